//! The meaning of events' names, by framework and version. Names change between releases; this table is the
//! only place that contains them.

use firstlight_schema::trace::Part;

use crate::names::Category;

/// A pattern for a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Is {
    Exactly(&'static str),
    Begins(&'static str),
    Holds(&'static str),
    /// Begins with the first and contains the second.
    Both(&'static str, &'static str),
    /// A Python frame: its file and its function.
    Frame(&'static str, &'static str),
}

impl Is {
    fn matches(self, name: &str) -> bool {
        match self {
            Self::Exactly(text) => name == text,
            Self::Begins(text) => name.starts_with(text),
            Self::Holds(text) => name.contains(text),
            Self::Both(begin, text) => name.starts_with(begin) && name.contains(text),
            Self::Frame(file, function) => is_frame(name, file, function),
        }
    }
}

/// Whether a name is that of a Python function, `$_jit.py:72 _preprocess`, in any folder and line.
pub(crate) fn is_frame(name: &str, file: &str, function: &str) -> bool {
    let Some((place, own)) = name.strip_prefix('$').unwrap_or(name).split_once(' ') else {
        return false;
    };
    let Some((path, _line)) = place.rsplit_once(':') else { return false };
    own == function && path.rsplit('/').next() == Some(file)
}

/// The meaning of an event on JAX's host lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JaxRole {
    /// A call of a compiled function.
    Call,
    Lower,
    Compile,
    /// The first run of a fresh program.
    FirstRun,
    /// A program runs on the processor.
    Run,
    /// The end of work that a program started on other threads.
    Completion,
    /// An operator that calls host code.
    Callback,
    Blocked,
    Fetch,
    /// The program clears its caches of compiled functions.
    Clear,
    Python,
    Other,
}

/// The names of one range of jaxlib versions.
#[derive(Debug)]
pub(crate) struct JaxRules {
    /// The first version that they apply to.
    since: (u32, u32),
    pub(crate) name: &'static str,
    /// Names that only these versions have.
    own: &'static [(JaxRole, Is)],
}

const CALL: &str = "PjitFunction(";

/// Newest first.
const JAX: [JaxRules; 2] = [
    JaxRules {
        since: (0, 10),
        name: "jax from 0.10",
        own: &[(JaxRole::Compile, Is::Exactly("backend_compile_and_load"))],
    },
    JaxRules {
        since: (0, 0),
        name: "jax before 0.10",
        own: &[
            (JaxRole::Compile, Is::Begins("backend_compile")),
            (JaxRole::Compile, Is::Both("TfrtCpuClient::", "Compile")),
            (JaxRole::Run, Is::Begins("TfrtCpuExecutable::Execute")),
        ],
    },
];

/// Names that all versions share.
const SHARED: [(JaxRole, Is); 23] = [
    (JaxRole::Call, Is::Begins(CALL)),
    (JaxRole::Lower, Is::Exactly("lower_sharding_computation")),
    (JaxRole::Compile, Is::Both("PjRt", "Client::Compile")),
    (JaxRole::FirstRun, Is::Exactly("ExecuteReplicated.__call__")),
    (JaxRole::Run, Is::Exactly("ThunkExecutor::Execute")),
    (JaxRole::Completion, Is::Exactly("ThunkExecutor::Execute (wait for completion)")),
    (JaxRole::Blocked, Is::Begins("block_until_ready")),
    (JaxRole::Blocked, Is::Exactly("BlockHostUntilReady")),
    (JaxRole::Blocked, Is::Begins("Wait for ")),
    (JaxRole::Blocked, Is::Both("cu", "Synchronize")),
    (JaxRole::Blocked, Is::Both("hip", "Synchronize")),
    (JaxRole::Blocked, Is::Frame("api.py", "try_to_block")),
    (JaxRole::Blocked, Is::Frame("api.py", "block_until_ready")),
    (JaxRole::Blocked, Is::Frame("array.py", "block_until_ready")),
    (JaxRole::Callback, Is::Begins("pure_callback")),
    (JaxRole::Callback, Is::Begins("io_callback")),
    (JaxRole::Callback, Is::Begins("debug_callback")),
    (JaxRole::Callback, Is::Begins("debug_print")),
    (JaxRole::Callback, Is::Holds("_python_cpu_callback")),
    (JaxRole::Callback, Is::Holds("_python_gpu_callback")),
    (JaxRole::Fetch, Is::Begins("np.asarray(jax.Array)")),
    (JaxRole::Clear, Is::Frame("api.py", "clear_caches")),
    (JaxRole::Python, Is::Begins("$")),
];

impl JaxRules {
    /// The rules for a version, and whether the version was known.
    pub(crate) fn for_version(version: Option<&str>) -> (&'static Self, bool) {
        let Some(version) = version.and_then(parse) else { return (&JAX[0], false) };
        let fits = JAX.iter().find(|rules| version >= rules.since);
        (fits.expect("the oldest rules hold from the beginning"), true)
    }

    pub(crate) fn role(&self, name: &str) -> JaxRole {
        let fits = self.own.iter().chain(&SHARED).find(|(_, is)| is.matches(name));
        fits.map_or(JaxRole::Other, |(role, _)| *role)
    }
}

/// A call of a compiled function of JAX; the name is the same in all versions.
pub(crate) fn is_call(name: &str) -> bool {
    name.starts_with(CALL)
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// The meaning of an event of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TorchRole {
    Step,
    Compile(Part),
    /// Part of compiling, like the surrounding event.
    Compiling,
    Region,
    /// The compiled graph itself.
    Graph,
    Guards,
    Prologue,
    /// An operator, which does the work itself without a device.
    Operator,
    /// A launch on a device.
    Launch,
    Blocked,
    Python,
    Annotation,
    Other,
}

pub(crate) const TORCH: &str = "torch.compile from 2.4";

/// A disk cache served the graph instead of the compiler.
pub(crate) const TORCH_CACHE: [&str; 2] = ["AOTAutogradCache.inductor_load", "FxGraphCache.load"];
/// The compiler itself ran.
pub(crate) const TORCH_COMPILER: &str = "GraphLowering.";

const TORCH_ROLES: &[(TorchRole, Is)] = &[
    (TorchRole::Compile(Part::Autotune), Is::Holds("benchmark_all_configs")),
    (TorchRole::Compile(Part::Autotune), Is::Begins("CachingAutotuner.coordinate_descent")),
    (TorchRole::Compile(Part::Compile), Is::Begins("async_compile.")),
    (TorchRole::Compile(Part::Compile), Is::Begins("PyCodeCache.")),
    (TorchRole::Compile(Part::Compile), Is::Begins("CppCodeCache")),
    (TorchRole::Compile(Part::Compile), Is::Begins("TritonBundler.")),
    (TorchRole::Compile(Part::Compile), Is::Begins("CachingAutotuner.precompile")),
    (TorchRole::Compile(Part::Compile), Is::Begins("AOTAutogradCache.")),
    (TorchRole::Compile(Part::Lower), Is::Begins("create_aot_dispatcher_function")),
    (TorchRole::Compile(Part::Lower), Is::Begins("aot_")),
    (TorchRole::Compile(Part::Lower), Is::Begins("compile_fx")),
    (TorchRole::Compile(Part::Lower), Is::Begins("inductor_compile")),
    (TorchRole::Compile(Part::Lower), Is::Begins("fx_codegen_and_compile")),
    (TorchRole::Compile(Part::Lower), Is::Begins("GraphLowering.")),
    (TorchRole::Compile(Part::Lower), Is::Begins("Scheduler.")),
    (TorchRole::Compile(Part::Lower), Is::Begins("backend_compile")),
    (TorchRole::Compile(Part::Lower), Is::Begins("OutputGraph.call_user_compiler")),
    (TorchRole::Compile(Part::Lower), Is::Begins("entire_backward_compile")),
    (TorchRole::Compile(Part::Trace), Is::Exactly("dynamo")),
    (TorchRole::Compile(Part::Trace), Is::Begins("dynamo_data:")),
    (TorchRole::Compile(Part::Trace), Is::Begins("entire_frame_compile")),
    (TorchRole::Compile(Part::Trace), Is::Begins("_compile.compile_inner")),
    (TorchRole::Compile(Part::Trace), Is::Begins("compile_attempt")),
    (TorchRole::Compile(Part::Trace), Is::Begins("bytecode_tracing")),
    (TorchRole::Compile(Part::Trace), Is::Begins("build_guards")),
    (TorchRole::Compiling, Is::Holds("(dynamo_timed)")),
    (TorchRole::Compiling, Is::Holds("compile_id=")),
    (TorchRole::Guards, Is::Exactly("TorchDynamo Cache Lookup")),
    (TorchRole::Prologue, Is::Begins("Pregraph bytecode")),
    (TorchRole::Prologue, Is::Begins("AOTDispatcher Runtime Wrapper")),
    (TorchRole::Graph, Is::Begins("## Call CompiledFxGraph")),
    (TorchRole::Graph, Is::Begins("CUDAGraph replay")),
    (TorchRole::Region, Is::Begins("Torch-Compiled Region")),
    (TorchRole::Region, Is::Begins("CompiledFunction")),
];

pub(crate) fn is_profiler_step(category: Category, name: &str) -> bool {
    matches!(category, Category::UserAnnotation | Category::CpuOp)
        && name.starts_with("ProfilerStep#")
}

pub(crate) fn torch_role(category: Category, name: &str) -> TorchRole {
    match category {
        _ if is_profiler_step(category, name) => return TorchRole::Step,
        Category::PythonFunction => return TorchRole::Python,
        Category::GpuUserAnnotation
        | Category::Overhead
        | Category::Other
        | Category::Kernel
        | Category::Memcpy
        | Category::Memset
        | Category::DeviceSync => return TorchRole::Other,
        // `cudaStreamSynchronize`, `hipEventSynchronize` and the equivalents of other vendors.
        Category::CudaRuntime if name.contains("Synchronize") => return TorchRole::Blocked,
        Category::CudaRuntime if name.contains("Launch") => return TorchRole::Launch,
        Category::None | Category::CpuOp | Category::UserAnnotation | Category::CudaRuntime => {}
    }
    if let Some((role, _)) = TORCH_ROLES.iter().find(|(_, is)| is.matches(name)) {
        return *role;
    }
    match category {
        Category::UserAnnotation => TorchRole::Annotation,
        // `Optimizer.step#SGD.step` and `enumerate(DataLoader)#…` are Python around operators.
        Category::CpuOp if !name.contains('#') => TorchRole::Operator,
        _ => TorchRole::Other,
    }
}

/// A copy or a fill on a device, by JAX's name.
pub(crate) fn moves_data(name: &str) -> bool {
    name.starts_with("Memcpy") || name.starts_with("Memset")
}

#[cfg(test)]
mod tests {
    use super::{JaxRole, JaxRules, is_frame};

    #[test]
    fn rules_depend_on_the_version_and_an_unknown_one_gets_the_newest() {
        let named = |version| JaxRules::for_version(version).0.name;
        assert_eq!(named(Some("0.11.2")), "jax from 0.10");
        assert_eq!(named(Some("0.4.38")), "jax before 0.10");
        assert_eq!(named(Some("0.10.0.dev20260101")), "jax from 0.10");
        assert_eq!((named(None), JaxRules::for_version(Some("main")).1), ("jax from 0.10", false));
    }

    #[test]
    fn the_wait_for_completion_is_distinguished_from_the_execution() {
        let (rules, _) = JaxRules::for_version(Some("0.10.2"));
        assert_eq!(rules.role("ThunkExecutor::Execute"), JaxRole::Run);
        let completion = "ThunkExecutor::Execute (wait for completion)";
        assert_eq!(rules.role(completion), JaxRole::Completion);
        assert_eq!(rules.role("PjRtCpuClient::Compile"), JaxRole::Compile);
        assert_eq!(rules.role("PjRtCApiClient::CompileAndLoad(jit_step)"), JaxRole::Compile);
    }

    #[test]
    fn a_frame_is_identified_by_its_file_and_function() {
        assert!(is_frame("$/env/jax/_src/api.py:2490 try_to_block", "api.py", "try_to_block"));
        assert!(!is_frame("$my_api.py:1 try_to_block", "api.py", "try_to_block"));
    }
}
