//! Two small recordings written by hand: the compared steps, and the difference of each bucket.

mod made;

use firstlight_schema::trace::{Bucket, TraceDocument};
use firstlight_schema::trace_comparison::{Row, TraceComparisonDocument};
use firstlight_schema::version::Build;
use firstlight_trace::compare;
use made::chrome::Events;

/// Steps with these numbers, each with a call of 50 µs, an execution and the given host time; a step without
/// an execution compiles instead.
fn recording(steps: &[(u32, u32, u32)]) -> TraceDocument {
    let mut events = Events::jax();
    let mut at = 0;
    for &(number, execution, host) in steps {
        let run = at + 50;
        events =
            events.step(number, at, run + execution + host).main("PjitFunction(step)", at, run);
        if execution == 0 {
            events = events.main("backend_compile_and_load", at + 10, at + 40);
        } else {
            events = events.operator(2, "dot.1", number, run, run + execution);
        }
        at = run + execution + host + 20;
    }
    events.attributed()
}

fn bucket(comparison: &TraceComparisonDocument, bucket: Bucket) -> &Row {
    let rows = || comparison.buckets.iter().filter(|row| row.part.is_none());
    rows().find(|row| row.bucket == Some(bucket)).expect("both sides have it")
}

/// First, second, difference and its interval, in microseconds.
fn numbers(row: &Row) -> (f64, f64, f64, Option<(f64, f64)>) {
    let us = |ns: f64| (ns / 1e3 * 1e6).round() / 1e6;
    let interval = row.difference.interval.map(|own| (us(own.low), us(own.high)));
    (us(row.first_ns), us(row.second_ns), us(row.difference.point), interval)
}

fn compared(first: &TraceDocument, second: &TraceDocument) -> TraceComparisonDocument {
    compare(first, second, Build::new("0", None))
}

#[test]
fn steps_of_the_same_number_are_compared_in_pairs_and_each_bucket_has_its_interval() {
    // The steps vary strongly, and each has 30 µs more host time on the second side.
    let hosts = [100, 900, 300, 700, 500, 200, 800];
    let steps = |more: u32| -> Vec<(u32, u32, u32)> {
        (0..7).zip(hosts).map(|(number, host)| (number, 400, host + more)).collect()
    };
    let comparison = compared(&recording(&steps(0)), &recording(&steps(30)));
    assert_eq!(comparison.aligned_steps, Some(7));
    assert_eq!(
        numbers(bucket(&comparison, Bucket::Host)),
        (500.0, 530.0, 30.0, Some((30.0, 30.0)))
    );
    assert_eq!(
        numbers(bucket(&comparison, Bucket::Execute)),
        (400.0, 400.0, 0.0, Some((0.0, 0.0)))
    );
    assert_eq!(numbers(bucket(&comparison, Bucket::Dispatch)), (50.0, 50.0, 0.0, Some((0.0, 0.0))));
    let wall = comparison.wall.as_ref().expect("both sides are steady");
    assert_eq!(numbers(wall), (950.0, 980.0, 30.0, Some((30.0, 30.0))));
    let falls: f64 = comparison.waterfall.iter().map(|fall| fall.by_ns).sum();
    assert!((falls - 30e3).abs() < 1e-6);
}

#[test]
fn only_steps_that_are_steady_on_both_sides_are_pairs() {
    let mut first: Vec<(u32, u32, u32)> = (0..8).map(|number| (number, 400, 100)).collect();
    let mut second: Vec<(u32, u32, u32)> = (1..9).map(|number| (number, 450, 100)).collect();
    // Step 3 compiles on one side, and step 5 on the other.
    first[3].1 = 0;
    second[4].1 = 0;
    let comparison = compared(&recording(&first), &recording(&second));
    assert_eq!(comparison.aligned_steps, Some(5));
    assert_eq!(bucket(&comparison, Bucket::Execute).difference.n, 5);
    assert_eq!(
        numbers(bucket(&comparison, Bucket::Execute)),
        (400.0, 450.0, 50.0, Some((50.0, 50.0)))
    );
}

#[test]
fn steps_without_common_numbers_are_resampled_separately_and_have_a_wide_interval() {
    let hosts = [100, 900, 300, 700, 500, 200, 800];
    let steps = |from: u32, more: u32| -> Vec<(u32, u32, u32)> {
        (from..).zip(hosts).map(|(number, host)| (number, 400, host + more)).collect()
    };
    let comparison = compared(&recording(&steps(0, 0)), &recording(&steps(100, 30)));
    assert_eq!(comparison.aligned_steps, None);
    let (first, second, difference, interval) = numbers(bucket(&comparison, Bucket::Host));
    assert_eq!((first, second, difference), (500.0, 530.0, 30.0));
    let (low, high) = interval.expect("seven steps on each side");
    assert!(low < -100.0 && high > 100.0, "{low} to {high}");
}

#[test]
fn few_pairs_have_a_difference_and_no_interval() {
    let steps = |more: u32| [(0, 400, 100 + more), (1, 400, 100 + more), (2, 400, 100 + more)];
    let comparison = compared(&recording(&steps(0)), &recording(&steps(30)));
    assert_eq!(comparison.aligned_steps, None);
    assert_eq!(numbers(bucket(&comparison, Bucket::Host)), (100.0, 130.0, 30.0, None));
    assert_eq!(numbers(&comparison.wall.expect("a difference")), (550.0, 580.0, 30.0, None));
}
