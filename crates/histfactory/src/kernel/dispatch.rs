//! Runs a kernel compiled for what the processor has.

/// Work whose inner loops gain from vector instructions. `run` and all it calls must be
/// `#[inline(always)]`, or they are compiled for the least processor.
pub(crate) trait Kernel {
    type Output;
    fn run<const FMA: bool>(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[expect(unsafe_code, reason = "instructions beyond the baseline need a promise")]
        // SAFETY: the processor was just asked for both features.
        return unsafe { with_avx2(kernel) };
    }
    kernel.run::<false>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<{ cfg!(target_arch = "aarch64") }>()
}

/// a·b + c, fused where that is one instruction.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
