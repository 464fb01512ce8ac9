//! A small plot of text: points and lines on logarithmic axes, one letter per series.

use firstlight_plot::scale::{Scale, real};

use crate::words::format::duration;

const HEIGHT: usize = 9;
const LABEL: usize = 8;

/// One line or set of points, drawn with one letter.
pub(crate) struct Series<'a> {
    pub(crate) letter: char,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) name: &'a str,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draw {
    Lines,
    Points,
}

/// Lines of text of the given width: durations upwards, plain numbers to the right. Empty for too little room
/// or fewer than two different x.
pub(crate) fn plot(series: &[Series<'_>], draw: Draw, width: usize) -> Option<Vec<String>> {
    let cells = width.checked_sub(LABEL + 2).filter(|&cells| cells >= 16)?;
    let all = || series.iter().flat_map(|series| &series.points);
    let x = Axis::new(all().map(|&(x, _)| x), cells)?;
    let y = Axis::new(all().map(|&(_, y)| y), HEIGHT)
        .or_else(|| Axis::around(all().next()?.1, HEIGHT))?;
    let mut grid = vec![vec![' '; cells]; HEIGHT];
    for one in series {
        for (column, row) in places(one, draw, &x, &y) {
            let cell = &mut grid[HEIGHT - 1 - row][column];
            *cell = if *cell == ' ' || *cell == one.letter { one.letter } else { '*' };
        }
    }
    let mut lines: Vec<String> = grid
        .into_iter()
        .enumerate()
        .map(|(line, row)| {
            let label = match line {
                0 => duration(y.scale.high),
                _ if line == HEIGHT - 1 => duration(y.scale.low),
                _ => String::new(),
            };
            let row: String = row.into_iter().collect();
            format!("{label:>LABEL$} │{}", row.trim_end())
        })
        .collect();
    lines.push(format!("{:LABEL$} └{}", "", "─".repeat(cells)));
    lines.push(format!("{:LABEL$}  {}", "", ticks(&x, cells)));
    Some(lines)
}

/// The cells that a series covers.
fn places(series: &Series<'_>, draw: Draw, x: &Axis, y: &Axis) -> Vec<(usize, usize)> {
    match draw {
        Draw::Points => series.points.iter().map(|&(a, b)| (x.place(a), y.place(b))).collect(),
        Draw::Lines => (0..x.cells)
            .filter_map(|column| Some((column, y.place(between(&series.points, x.value(column))?))))
            .collect(),
    }
}

/// The height of a line through the points, straight on logarithmic axes.
fn between(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let next = points.iter().position(|&(x, _)| x >= at)?;
    let (x1, y1) = points[next];
    let Some(&(x0, y0)) = next.checked_sub(1).and_then(|last| points.get(last)) else {
        return Some(y1);
    };
    let share = (at.ln() - x0.ln()) / (x1.ln() - x0.ln());
    Some((y0.ln() + share * (y1.ln() - y0.ln())).exp())
}

/// Round numbers below the axis, as on the pages.
fn ticks(x: &Axis, cells: usize) -> String {
    let mut text: Vec<char> = vec![' '; cells + 6];
    for (value, label) in x.scale.numbers(6) {
        let place = x.place(value);
        let free = place == 0 || text[place - 1..].iter().take(label.len() + 2).all(|c| *c == ' ');
        if free && place + label.len() <= cells + 6 {
            for (offset, c) in label.chars().enumerate() {
                text[place + offset] = c;
            }
        }
    }
    text.into_iter().collect::<String>().trim_end().to_owned()
}

/// A scale of the pages on cells of a terminal.
struct Axis {
    scale: Scale,
    cells: usize,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, cells: usize) -> Option<Self> {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let low = positive.clone().reduce(f64::min)?;
        let high = positive.reduce(f64::max)?;
        (high > low).then(|| Self { scale: Scale::exact(low, high, true), cells })
    }

    fn around(value: f64, cells: usize) -> Option<Self> {
        (value > 0.0).then(|| Self { scale: Scale::exact(value / 2.0, value * 2.0, true), cells })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place on a line of few cells"
    )]
    fn place(&self, value: f64) -> usize {
        (self.scale.at(value) * real(self.cells - 1)).round() as usize
    }

    fn value(&self, place: usize) -> f64 {
        self.scale.value(real(place) / real(self.cells - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Draw, Series, plot};

    #[test]
    fn two_lines_cross_where_their_values_do() {
        let line = |letter, start: f64, call: f64| Series {
            letter,
            points: [1.0, 10.0, 100.0, 1000.0].map(|n| (n, start + n * call)).to_vec(),
            name: "",
        };
        let lines =
            plot(&[line('a', 1e9, 1e6), line('b', 1e6, 1e8)], Draw::Lines, 50).unwrap().join("\n");
        assert!(lines.contains('a') && lines.contains('b') && lines.contains('*'), "{lines}");
        assert!(lines.lines().all(|line| line.chars().count() <= 56), "{lines}");
    }

    #[test]
    fn a_single_x_or_too_little_room_gives_no_plot() {
        let one = || Series { letter: 'a', points: vec![(1.0, 2.0)], name: "" };
        assert!(plot(&[one()], Draw::Points, 80).is_none());
        assert!(plot(&[one()], Draw::Points, 12).is_none());
    }
}
