//! Compares CLs of small models with the values that pyhf publishes: those of its validation, most of them
//! from ROOT (most kinds of modifiers, interpolation codes 1 and 0, q with μ = 1), and of its documentation.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use histfactory::inference::TestKind;
use histfactory::{Interpolation, Model, ModelOptions, Workspace};
use serde_json::{Value, json};

/// Observed CLs, then the expected ones from −2 to 2 standard deviations.
type Published = [f64; 6];

fn sample(name: &str, data: &[f64], modifiers: &Value) -> Value {
    json!({"name": name, "data": data, "modifiers": [modifiers]})
}

fn signal(data: &[f64]) -> Value {
    sample("signal", data, &json!({"name": "mu", "type": "normfactor", "data": null}))
}

fn modified(name: &str, data: &[f64], kind: &str, of: &Value) -> Value {
    sample(name, data, &json!({"name": kind, "type": kind, "data": of}))
}

/// Shifted templates.
fn shifted(name: &str, data: &[f64], lo: &[f64], hi: &[f64]) -> Value {
    modified(name, data, "histosys", &json!({"lo_data": lo, "hi_data": hi}))
}

/// The first channel has the signal.
fn model(
    channels: &[(&[f64], Vec<Value>)],
    parameters: &Value,
    interpolation: Interpolation,
) -> Model {
    let named = || ["first", "second"].into_iter().zip(channels);
    let workspace = json!({
        "channels": named().map(|(name, (_, samples))| json!({"name": name, "samples": samples}))
            .collect::<Vec<_>>(),
        "observations": named().map(|(name, (data, _))| json!({"name": name, "data": data}))
            .collect::<Vec<_>>(),
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": parameters}}],
        "version": "1.0.0",
    });
    let workspace = Workspace::from_slice(workspace.to_string().as_bytes()).unwrap();
    let options = ModelOptions { interpolation, ..ModelOptions::default() };
    Model::new(&workspace, &options).unwrap()
}

/// The largest distance from the published values.
fn distance(
    channels: &[(&[f64], Vec<Value>)],
    parameters: &Value,
    interpolation: Interpolation,
    kind: TestKind,
    published: &Published,
) -> f64 {
    let model = model(channels, parameters, interpolation);
    let test = model.hypotest(model.observed(), 1.0, kind).unwrap();
    let ours = std::iter::once(test.observed.cls).chain(test.expected.iter().map(|one| one.cls));
    ours.zip(published).map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max)
}

fn validated(channels: &[(&[f64], Vec<Value>)], parameters: &Value, published: &Published) {
    let found = distance(channels, parameters, Interpolation::PIECEWISE, TestKind::Q, published);
    assert!(found < 1e-6, "{found:e}");
}

/// Like `pyhf cls`, unlike pyhf's validation: the default codes, and q̃.
fn validated_by_default(channels: &[(&[f64], Vec<Value>)], published: &Published) {
    let (codes, kind) = (Interpolation::default(), TestKind::QTilde);
    let found = distance(channels, &json!([]), codes, kind, published);
    assert!(found < 1e-6, "{found:e}");
}

/// For published values further than 1e-6 from the minima: their distance, and the result of pyhf 0.7.6
/// itself with a tolerance of 1e-12.
fn validated_tightly(
    channels: &[(&[f64], Vec<Value>)],
    parameters: &Value,
    (published, within): (&Published, f64),
    tight: &Published,
) {
    validated(channels, parameters, tight);
    let found = distance(channels, parameters, Interpolation::PIECEWISE, TestKind::Q, published);
    assert!(found < within, "{found:e}");
}

#[test]
fn one_bin_with_a_shapesys() {
    let background = modified("background", &[50.0], "shapesys", &json!([7.0]));
    validated(
        &[(&[55.0], vec![signal(&[10.0]), background])],
        &json!([]),
        &[
            0.454_186_541_610_702_9,
            0.063_717_993_988_646_26,
            0.150_965_033_980_488_94,
            0.327_960_695_053_330_5,
            0.604_608_730_303_911_8,
            0.866_262_760_529_846_6,
        ],
    );
}

#[test]
fn one_bin_with_lumi_and_an_empty_sample() {
    let lumi = json!([{"name": "lumi", "auxdata": [1.0], "bounds": [[0.0, 10.0]], "inits": [1.0],
        "sigmas": [0.1]}]);
    let of = |name, data| modified(name, &[data], "lumi", &Value::Null);
    validated_tightly(
        &[(&[55.0], vec![signal(&[20.0]), of("one", 100.0), of("two", 0.0)])],
        &lumi,
        (
            &[0.010_472_75, 0.010_603_38, 0.040_222_73, 0.136_142_17, 0.370_783_21, 0.711_041_19],
            1.4e-6,
        ),
        &[
            0.010_472_828_75,
            0.010_603_505_43,
            0.040_223_082_06,
            0.136_142_999_49,
            0.370_784_533_71,
            0.711_042_316_70,
        ],
    );
}

#[test]
fn two_bins_with_a_normsys() {
    let normsys = json!({"lo": 0.9, "hi": 1.1});
    let background = modified("background", &[100.0, 150.0], "normsys", &normsys);
    validated(
        &[(&[120.0, 180.0], vec![signal(&[30.0, 95.0]), background])],
        &json!([]),
        &[
            0.000_673_531_702_368_317_3,
            7.471_684_419_037_561e-10,
            5.741_155_150_908_805_4e-8,
            3.689_808_806_273_120_5e-6,
            0.000_169_657_315_382_678_96,
            0.004_392_708_998_555_453,
        ],
    );
}

#[test]
fn two_bins_with_a_histosys() {
    let background = shifted("background", &[100.0, 150.0], &[98.0, 100.0], &[102.0, 190.0]);
    validated_tightly(
        &[(&[120.0, 180.0], vec![signal(&[30.0, 95.0]), background])],
        &json!([]),
        (
            &[
                0.100_146_346_072_553_4,
                7.134_513_306_138_892e-6,
                0.000_125_471_006_271_385_75,
                0.001_880_010_666_437_615,
                0.020_789_649_076_053_85,
                0.136_924_945_235_722_18,
            ],
            3.1e-6,
        ),
        &[
            0.100_146_234_67,
            7.133_994_97e-6,
            0.000_125_463_548_38,
            0.001_879_923_312_67,
            0.020_788_944_116_62,
            0.136_921_913_268_63,
        ],
    );
}

#[test]
fn two_channels_with_a_shapesys_each() {
    let of = |name, data: &[f64], kind_data: &Value| {
        sample(name, data, &json!({"name": name, "type": "shapesys", "data": kind_data}))
    };
    validated(
        &[
            (
                &[110.0, 155.0],
                vec![signal(&[10.0, 35.0]), of("one", &[100.0, 150.0], &json!([10.0, 10.0]))],
            ),
            (&[205.0, 345.0], vec![of("two", &[200.0, 350.0], &json!([5.0, 10.0]))]),
        ],
        &json!([]),
        &[
            0.056_332_621_064_982_304,
            0.000_434_913_548_219_835_56,
            0.003_422_300_050_286_060_6,
            0.023_374_232_658_311_51,
            0.121_865_422_551_015_8,
            0.403_820_742_494_778_45,
        ],
    );
}

#[test]
fn two_channels_with_one_normsys() {
    let of = |name, data: &[f64], lo: f64| {
        modified(name, data, "normsys", &json!({"lo": lo, "hi": 2.0 - lo}))
    };
    validated_tightly(
        &[
            (
                &[105.0, 220.0],
                vec![
                    signal(&[10.0, 35.0]),
                    of("one", &[100.0, 100.0], 0.9),
                    of("two", &[50.0, 100.0], 0.5),
                ],
            ),
            (&[110.0, 105.0], vec![of("three", &[100.0, 100.0], 0.9)]),
        ],
        &json!([]),
        (
            &[
                0.590_622_803_470_515_5,
                0.055_223_914_655_538_435,
                0.136_132_399_253_953_15,
                0.306_872_010_149_332_3,
                0.583_947_009_391_016_4,
                0.855_472_546_133_702_5,
            ],
            1.4e-5,
        ),
        &[
            0.590_627_630_57,
            0.055_229_247_28,
            0.136_141_920_01,
            0.306_885_847_79,
            0.583_960_866_41,
            0.855_479_941_43,
        ],
    );
}

#[test]
fn two_channels_with_one_shapefactor() {
    let of = |name, data: &[f64]| modified(name, data, "shapefactor", &Value::Null);
    validated(
        &[
            (&[220.0, 230.0], vec![signal(&[20.0, 20.0]), of("one", &[100.0, 70.0])]),
            (&[200.0, 300.0], vec![of("two", &[100.0, 100.0])]),
        ],
        &json!([]),
        &[
            0.542_167_912_490_931_2,
            0.013_753_299_929_451_691,
            0.048_887_400_056_355_966,
            0.155_552_962_539_576_84,
            0.400_756_134_332_630_5,
            0.735_716_963_095_591_2,
        ],
    );
}

/// pyhf's own example of `pyhf cls`.
#[test]
fn two_bins_of_pyhfs_command_line() {
    let background = modified("background", &[50.0, 60.0], "shapesys", &json!([5.0, 12.0]));
    validated_by_default(
        &[(&[50.0, 60.0], vec![signal(&[5.0, 10.0]), background])],
        &[
            0.359_984_563_140_191_5,
            0.078_074_279_116_861_56,
            0.174_725_717_754_746_18,
            0.359_984_952_636_812_85,
            0.634_356_823_589_890_7,
            0.880_994_700_447_201_3,
        ],
    );
}

#[test]
fn discovery_in_one_bin_with_a_shapesys() {
    let background = modified("background", &[50.0], "shapesys", &json!([7.0]));
    let model = model(
        &[(&[80.0], vec![signal(&[25.0]), background])],
        &json!([]),
        Interpolation::PIECEWISE,
    );
    let test = model.hypotest(model.observed(), 0.0, TestKind::Q0).unwrap();
    let distance = (test.observed.cls - 0.003_936_883_191_585_841).abs();
    assert!(distance < 1e-8, "{distance:e}");
}

/// Here the templates lower a bin on both sides of zero, so that −log L has a minimum on either side. The
/// published values use those of the right side throughout, and are reproduced with these; the lowest ones
/// with the tested value are on the left, and define CLs.
#[test]
fn two_channels_with_one_histosys() {
    let channels: &[(&[f64], Vec<Value>)] = &[
        (
            &[170.0, 220.0],
            vec![
                signal(&[30.0, 35.0]),
                shifted("one", &[100.0, 100.0], &[90.0, 90.0], &[110.0, 110.0]),
                shifted("two", &[50.0, 120.0], &[45.0, 45.0], &[55.0, 55.0]),
            ],
        ),
        (&[110.0, 105.0], vec![shifted("three", &[105.0, 100.0], &[95.0, 90.0], &[110.0, 115.0])]),
    ];
    validated(
        channels,
        &json!([{"name": "histosys", "bounds": [[0.0, 5.0]]}]),
        &[
            0.079_674_001_322_611_88,
            1.765_374_653_696_215_4e-5,
            0.000_262_656_448_077_998_05,
            0.003_340_036_127_800_65,
            0.031_522_353_024_659_715,
            0.179_077_429_151_439_62,
        ],
    );
    validated(
        channels,
        &json!([]),
        &[
            0.138_305_152_526_038_5,
            0.001_783_676_626_9,
            0.010_311_721_828_8,
            0.052_263_701_986_9,
            0.206_055_709_533_9,
            0.535_729_676_687_6,
        ],
    );
}

/// A bin with an uncertainty of zero has no separate factor.
#[test]
fn a_shapesys_with_a_zero_beside_root() {
    let background = modified("background", &[100.0, 10.0], "shapesys", &json!([10.0, 0.0]));
    validated_by_default(
        &[(&[100.0, 10.0], vec![signal(&[20.0, 10.0]), background])],
        &[
            0.004_360_634_405_484_502,
            2.702_197_937_866_914e-5,
            0.000_370_999_176_125_761_55,
            0.004_360_634_386_335_687,
            0.038_150_315_097_019_16,
            0.202_030_275_641_550_74,
        ],
    );
}
