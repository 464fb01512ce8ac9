//! The picture itself, line by line.

use std::fmt::Write as _;

pub(super) const WIDTH: f64 = 760.0;
pub(super) const LEFT: f64 = 90.0;
pub(super) const TOP: f64 = 40.0;
pub(super) const RIGHT: f64 = 190.0;
const BELOW: f64 = 50.0;

pub(super) struct Svg(String);

impl Svg {
    /// Of the usual width; `height` is that of the plot.
    pub(super) fn new(title: &str, height: f64) -> Self {
        let height = TOP + height + BELOW;
        let mut svg = Self(String::new());
        svg.add(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">"
        ));
        let title = escaped(title);
        svg.add(&format!("<title>{title}</title>"));
        svg.add("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
        svg.add(&format!("<text x=\"{LEFT}\" y=\"24\" font-size=\"14\">{title}</text>"));
        svg
    }

    fn add(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("writing to a string");
    }

    pub(super) fn rule(&mut self, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.add(&format!(
            "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#ddd\" fill=\"none\"/>"
        ));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    pub(super) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        self.add(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\"/>"
        ));
    }

    pub(super) fn path(&mut self, points: &[String], colour: &str, dashes: &str) {
        let path = points.join("L");
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        self.add(&format!(
            "<path d=\"M{path}\" stroke=\"{colour}\" stroke-width=\"2\"{dashes} fill=\"none\"/>"
        ));
    }

    pub(super) fn point(&mut self, x: f64, y: f64, ends: Option<(f64, f64)>, colour: &str) {
        if let Some((low, high)) = ends {
            self.add(&format!(
                "<path d=\"M{x:.1} {low:.1}L{x:.1} {high:.1}\" stroke=\"{colour}\"/>"
            ));
        }
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"));
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
    pub(super) fn entry(&mut self, index: usize, colour: &str, name: &str) {
        let (x, y) = (WIDTH - RIGHT + 16.0, TOP + 12.0 + index as f64 * 20.0);
        self.add(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"));
        self.text(x + 12.0, y + 4.0, "start", name);
    }

    /// The same with a stretch of the line itself.
    #[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
    pub(super) fn line_entry(&mut self, index: usize, colour: &str, dashes: &str, name: &str) {
        let (x, y) = (WIDTH - RIGHT + 10.0, TOP + 12.0 + index as f64 * 20.0);
        self.path(&[format!("{x:.1} {y:.1}"), format!("{:.1} {y:.1}", x + 24.0)], colour, dashes);
        self.text(x + 32.0, y + 4.0, "start", name);
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
