//! Fits toys of the twin with 184 parameters in one piece and in shards, and compares the bits:
//! `cargo run --release -p histfactory --example shards -- 1000000 100`.

#![expect(clippy::print_stdout, reason = "it is all that this program does")]

use std::time::Instant;

use histfactory::synthetic::Twin;
use histfactory::toys::{Shard, ToyOptions};
use histfactory::{FitOptions, Model};
use sha2::{Digest, Sha256};

/// The number of toys in memory at a time.
const PIECE: u64 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let toys: u64 = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let shards: u32 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let model = Model::new(&Twin::Combination.workspace(1), &histfactory::ModelOptions::default())?;
    let whole = ToyOptions::new(toys, 1);
    println!("{} parameters, {toys} toys", model.parameter_count());
    let began = Instant::now();
    let mut one = Sha256::new();
    digest(&model, whole, &mut one)?;
    let one = one.finalize();
    println!("in one piece  {}  {:.0} s", hex(&one), began.elapsed().as_secs_f64());
    let began = Instant::now();
    let mut parts = Sha256::new();
    for index in 1..=shards {
        let shard = Shard::new(index, shards).ok_or("there is no such shard")?;
        digest(&model, whole.in_shard(shard), &mut parts)?;
    }
    let parts = parts.finalize();
    println!("{shards} shards    {}  {:.0} s", hex(&parts), began.elapsed().as_secs_f64());
    if one != parts {
        return Err("the shards differ from the whole".into());
    }
    println!("bitwise the same");
    Ok(())
}

/// Every parameter and the likelihood of each fit, in the order of the toys. In one piece, blocks of threads
/// cross the edges of shards; only the memory is bounded.
fn digest(
    model: &Model,
    toys: ToyOptions,
    hash: &mut Sha256,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut done = 0;
    while done < toys.count {
        let count = PIECE.min(toys.count - done);
        let piece = ToyOptions { first: toys.first + done, count, ..toys };
        for toy in model.toy_fits(model.init(), &piece, &FitOptions::default())? {
            match toy {
                Ok(toy) => {
                    hash.update(toy.number.to_le_bytes());
                    hash.update(toy.fit.nll.to_bits().to_le_bytes());
                    toy.fit
                        .theta
                        .iter()
                        .for_each(|value| hash.update(value.to_bits().to_le_bytes()));
                }
                Err(error) => hash.update(error.to_string()),
            }
        }
        done += count;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    bytes.iter().take(8).fold(String::new(), hex)
}
