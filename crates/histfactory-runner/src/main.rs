//! The arm `histfactory` of the suite `histfactory`, which calls the core directly from Rust.
//!
//! `histfactory-runner workspaces FOLDER` writes the suite's workspaces; without arguments it is a runner
//! that follows the protocol.

mod jobs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstlight_runner::{Failure, Prepare, Scalar, Workload, serve};
use histfactory::synthetic::Twin;

use jobs::Job;

/// The seed of the workspaces, the same as that of the goldens.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => serve(setup),
        [command, folder] if command == "workspaces" => match write_workspaces(Path::new(folder)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => ExitCode::from(2),
    }
}

fn write_workspaces(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for twin in [Twin::Small, Twin::Combination] {
        let path = folder.join(twin.as_str()).with_extension("json");
        std::fs::write(path, twin.workspace(SEED).to_json())?;
    }
    Ok(())
}

struct Arm(Job);

impl Workload for Arm {
    type Output = Result<Vec<f64>, Failure>;

    fn call(&mut self) -> Self::Output {
        self.0.run()
    }

    fn check(&mut self, result: &Self::Output) -> Option<Result<(), Failure>> {
        Some(match result {
            Ok(values) if values.iter().all(|value| value.is_finite()) => Ok(()),
            Ok(values) => Err(format!("the result is not finite: {values:?}").into()),
            Err(problem) => Err(problem.to_string().into()),
        })
    }

    fn values(&mut self, result: &Self::Output) -> Option<Vec<f64>> {
        result.as_ref().ok().cloned()
    }
}

fn setup(prepare: &Prepare) -> Result<Arm, Failure> {
    let text = |name: &str| match prepare.parameters.get(name) {
        Some(Scalar::Text(text)) => Ok(text.as_str()),
        _ => Err(format!("the case has no text `{name}`")),
    };
    let number = |name: &str| match prepare.parameters.get(name) {
        Some(Scalar::Float(number)) => Ok(*number),
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        Some(Scalar::Integer(number)) => Ok(*number as f64),
        _ => Err(format!("the case has no number `{name}`")),
    };
    let Some(Scalar::Integer(steps)) = prepare.parameters.get("steps") else {
        return Err("the case has no whole number `steps`".into());
    };
    let rates = text("rates")?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let loop_ = jobs::Loop { rate: number("rate")?, rates, steps: usize::try_from(*steps)? };
    let job = Job::new(text("job")?, path(text("workspace")?)?, text("signal")?, loop_)?;
    Ok(Arm(job))
}

/// A file, or the name of one beside this program.
fn path(workspace: &str) -> Result<PathBuf, Failure> {
    if workspace.contains('/') {
        return Ok(PathBuf::from(workspace));
    }
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or("this program lies nowhere")?;
    Ok(folder.join(workspace).with_extension("json"))
}
