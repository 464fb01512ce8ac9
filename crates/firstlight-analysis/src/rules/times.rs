//! Checks that times are possible: between the process's start and end, one call after the other, and no more
//! calls than the suite requests.

use firstlight_schema::message::{Iterate, Message, Request};
use firstlight_schema::reading::RawRecord;
use firstlight_schema::snapshot::RAW;
use firstlight_schema::suite::SuiteFile;
use firstlight_schema::times::{Calls, SETTLE_CALLS, outside};
use firstlight_schema::validation::{MOST_PLACES, Place, Rule, RuleResult};

/// Checks every time of every message, and every call.
pub fn times(records: &[RawRecord], suite: &SuiteFile) -> RuleResult {
    let mut places = Vec::new();
    let mut messages = 0;
    for (index, record) in records.iter().enumerate() {
        let sample = &record.sample;
        let mut calls = asked(record, suite);
        for (number, message) in sample.messages.iter().enumerate() {
            messages += 1;
            let mut wrong = |published: String, expected: String| {
                let at = format!("{}/sample/messages/{number}", index + 1);
                if places.len() < MOST_PLACES {
                    places.push(Place::file(RAW, published, expected).at(at));
                }
            };
            if let Some(at) = outside(message, sample.spawn, sample.reaped) {
                let expected = format!("between {} and {}", sample.spawn.0, sample.reaped.0);
                wrong(at.0.to_string(), expected);
            }
            let counted = match message {
                Message::Iterations(block) => calls.iterations(block),
                Message::Settled(settled) => calls.settled(settled),
                _ => Ok(()),
            };
            if let Err(error) = counted {
                wrong(error.to_string(), "calls that the suite asks for, in order".to_owned());
            }
        }
    }
    let evidence = format!("{messages} messages of {} processes", records.len());
    RuleResult::unless(Rule::Times, places, evidence)
}

/// The largest number of calls requested of a process. Later processes of an arm may get smaller requests.
fn asked(record: &RawRecord, suite: &SuiteFile) -> Calls {
    let mut calls = Calls::default();
    let count = |count| Iterate { count, within_ns: None, at_least: 1 };
    let warm = record
        .subject
        .as_ref()
        .and_then(|subject| subject.regime)
        .is_some_and(|regime| !regime.is_cold());
    if warm {
        calls.asked(&Request::WarmUp(count(suite.warm.warm_up)));
        calls.asked(&Request::Iterate(count(suite.warm.iterations)));
        calls.asked(&Request::Settle(count(SETTLE_CALLS)));
    } else {
        calls.asked(&Request::First);
    }
    calls
}
