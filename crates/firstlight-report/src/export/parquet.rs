//! The table of raw readings as Parquet: the columns of the CSV with their types, absent values as
//! nulls.

use std::sync::Arc;

use firstlight_schema::run::RunDocument;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::{COLUMNS, Row, rows};

/// The number of rows written together, so that a reader need not hold all of them.
const GROUP: usize = 1 << 20;

pub fn parquet(document: &RunDocument) -> Result<Vec<u8>> {
    let rows = rows(document);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(format!("firstlight {}", document.firstlight.version))
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema()?, Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        columns(&mut group, rows)?;
        group.close()?;
    }
    writer.close()?;
    Ok(bytes)
}

fn schema() -> Result<TypePtr> {
    let fields: Result<Vec<TypePtr>> = COLUMNS.iter().map(|name| field(name)).collect();
    Ok(Arc::new(Type::group_type_builder("readings").with_fields(fields?).build()?))
}

fn field(name: &str) -> Result<TypePtr> {
    let (physical, repetition) = match name {
        "control" | "valid" => (Physical::BOOLEAN, Repetition::REQUIRED),
        "steady" => (Physical::BOOLEAN, Repetition::OPTIONAL),
        "process" => (Physical::INT64, Repetition::REQUIRED),
        "round" | "call" | "calls" | "begin_ns" | "duration_ns" => {
            (Physical::INT64, Repetition::OPTIONAL)
        }
        _ => (Physical::BYTE_ARRAY, Repetition::REQUIRED),
    };
    let text = physical == Physical::BYTE_ARRAY;
    let converted = if text { ConvertedType::UTF8 } else { ConvertedType::NONE };
    let builder = Type::primitive_type_builder(name, physical);
    Ok(Arc::new(builder.with_repetition(repetition).with_converted_type(converted).build()?))
}

/// In the order of [`COLUMNS`], which is that of the schema.
fn columns<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
) -> Result<()> {
    text(group, rows, |row| row.case)?;
    text(group, rows, |row| row.arm)?;
    text(group, rows, |row| row.regime.name())?;
    required::<BoolType, W>(group, rows, |row| row.control)?;
    optional::<Int64Type, W>(group, rows, |row| row.round.map(i64::from))?;
    required::<Int64Type, W>(group, rows, |row| i64::from(row.process))?;
    text(group, rows, |row| row.part.name())?;
    optional::<Int64Type, W>(group, rows, |row| row.call.map(signed))?;
    optional::<Int64Type, W>(group, rows, |row| row.calls.map(signed))?;
    optional::<Int64Type, W>(group, rows, |row| row.begin_ns.map(signed))?;
    optional::<Int64Type, W>(group, rows, |row| row.duration_ns.map(signed))?;
    optional::<BoolType, W>(group, rows, |row| row.steady)?;
    required::<BoolType, W>(group, rows, |row| row.valid)?;
    text(group, rows, |row| &row.reasons)
}

/// Nanoseconds since a boot fit for centuries.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn text<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
    name: impl for<'r> Fn(&'r Row<'_>) -> &'r str,
) -> Result<()> {
    required::<ByteArrayType, W>(group, rows, |row| ByteArray::from(name(row)))
}

fn required<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
    row: impl Fn(&Row<'_>) -> T::T,
) -> Result<()> {
    let values: Vec<T::T> = rows.iter().map(row).collect();
    write::<T, W>(group, &values, None)
}

fn optional<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
    row: impl Fn(&Row<'_>) -> Option<T::T>,
) -> Result<()> {
    let found: Vec<Option<T::T>> = rows.iter().map(row).collect();
    let levels: Vec<i16> = found.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = found.into_iter().flatten().collect();
    write::<T, W>(group, &values, Some(&levels))
}

fn write<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
