//! Checks that the colours of two arms can be distinguished with three kinds of colour blindness.
//!
//! Colours are simulated after Machado, Oliveira and Fernandes (2009) at full severity and compared by
//! CIEDE2000 (Sharma, Wu and Dalal 2005).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use firstlight_plot::palette::LOOKS;

/// Two colours this far apart are distinct at a glance.
const ENOUGH: f64 = 10.0;

type Matrix = [[f64; 3]; 3];

const VISIONS: [(&str, Matrix); 4] = [
    ("full", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protan",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deutan",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritan",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// Linear sRGB to XYZ under D65.
const XYZ: Matrix = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175_0],
    [0.019_333_9, 0.119_192_0, 0.950_304_1],
];
const WHITE: [f64; 3] = [0.950_47, 1.0, 1.088_83];

fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn lab(linear: [f64; 3]) -> [f64; 3] {
    let xyz = times(&XYZ, linear.map(|value| value.clamp(0.0, 1.0)));
    let f = |t: f64| {
        if t > 216.0 / 24_389.0 { t.cbrt() } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 }
    };
    let [x, y, z] = [0, 1, 2].map(|axis| f(xyz[axis] / WHITE[axis]));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn hue(a: f64, b: f64) -> f64 {
    b.atan2(a).to_degrees().rem_euclid(360.0)
}

#[expect(clippy::many_single_char_names, reason = "the symbols of the formula")]
fn ciede2000(first: [f64; 3], second: [f64; 3]) -> f64 {
    let ([l1, a1, b1], [l2, a2, b2]) = (first, second);
    let seventh = |c: f64| (c.powi(7) / (c.powi(7) + 25_f64.powi(7))).sqrt();
    let g = 0.5 * (1.0 - seventh(f64::midpoint(a1.hypot(b1), a2.hypot(b2))));
    let (a1, a2) = ((1.0 + g) * a1, (1.0 + g) * a2);
    let (c1, c2, h1, h2) = (a1.hypot(b1), a2.hypot(b2), hue(a1, b1), hue(a2, b2));
    let grey = c1 * c2 < 1e-12;
    let turn = match h2 - h1 {
        _ if grey => 0.0,
        d if d > 180.0 => d - 360.0,
        d if d < -180.0 => d + 360.0,
        d => d,
    };
    let (dl, dc) = (l2 - l1, c2 - c1);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c, sum) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2), h1 + h2);
    let h = match (h1 - h2).abs() {
        _ if grey => sum,
        apart if apart <= 180.0 => sum / 2.0,
        _ if sum < 360.0 => f64::midpoint(sum, 360.0),
        _ => f64::midpoint(sum, -360.0),
    };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.20 * cos(4.0 * h - 63.0);
    let from_middle = (l - 50.0).powi(2);
    let (sl, sc, sh) = (
        1.0 + 0.015 * from_middle / (20.0 + from_middle).sqrt(),
        1.0 + 0.045 * c,
        1.0 + 0.015 * c * t,
    );
    let rotation = 30.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let r = -(2.0 * rotation).to_radians().sin() * 2.0 * seventh(c);
    let (dl, dc, dh) = (dl / sl, dc / sc, dh / sh);
    (dl * dl + dc * dc + dh * dh + r * dc * dh).sqrt()
}

fn relative_luminance(hex: &str) -> f64 {
    linear(hex).iter().zip([0.2126, 0.7152, 0.0722]).map(|(a, b)| a * b).sum()
}

#[test]
fn the_difference_matches_the_published_examples() {
    let examples = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.0, 2.0], [50.0, 0.0, 0.0], 2.3669),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0011], 7.2195),
        ([50.0, 2.5, 0.0], [61.0, -5.0, 29.0], 22.8977),
        ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
    ];
    for (first, second, expected) in examples {
        assert!((ciede2000(first, second) - expected).abs() < 1e-4, "{first:?} {second:?}");
    }
}

#[test]
fn any_two_arms_are_distinguished_with_every_kind_of_colour_vision() {
    for (page, colours) in
        [("light", LOOKS.map(|look| look.light)), ("dark", LOOKS.map(|look| look.dark))]
    {
        for (vision, matrix) in &VISIONS {
            let seen = colours.map(|hex| lab(times(matrix, linear(hex))));
            let pairs = (0..seen.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
            let (smallest, (one, other)) = pairs
                .map(|pair| (ciede2000(seen[pair.0], seen[pair.1]), pair))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            println!(
                "{page}, {vision}: smallest ΔE {smallest:.1} between {} and {}",
                colours[one], colours[other]
            );
            assert!(smallest > ENOUGH, "{page}, {vision}: {} {}", colours[one], colours[other]);
        }
    }
}

#[test]
fn every_colour_is_legible_as_text_on_its_page() {
    let contrast = |one: &str, other: &str| {
        let (one, other) = (relative_luminance(one), relative_luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    };
    for look in LOOKS {
        assert!(contrast(look.light, "#ffffff") >= 4.5, "{}", look.light);
        assert!(contrast(look.dark, "#0f1318") >= 4.5, "{}", look.dark);
    }
}
