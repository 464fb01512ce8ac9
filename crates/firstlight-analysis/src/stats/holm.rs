//! Holm's correction for several comparisons.
//!
//! With p₍₁₎ ≤ … ≤ p₍ₘ₎ the adjusted values are max over j ≤ i of min(1, (m − j + 1) p₍ⱼ₎). (Holm,
//! Scand. J. Stat. 6, 1979.)

use super::count;

/// The adjusted p values, in the given order.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, case) in order.into_iter().enumerate() {
        largest = largest.max(p[case] * count(p.len() - rank)).min(1.0);
        adjusted[case] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_textbook_example_is_reproduced() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn one_case_is_unchanged_and_none_gives_none() {
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn adjusting_never_lowers_a_p_value_nor_changes_their_order(
            p in prop::collection::vec(0.0_f64..=1.0, 0..20)
        ) {
            let adjusted = holm(&p);
            for i in 0..p.len() {
                prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
