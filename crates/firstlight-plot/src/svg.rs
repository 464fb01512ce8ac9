//! A drawing, shape by shape.

use std::fmt::Write;

use crate::palette;

/// The horizontal alignment of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// The style of a line.
#[derive(Clone, Copy)]
pub struct Stroke {
    pub colour: &'static str,
    pub width: f64,
    /// Lengths of dashes and gaps; empty for an unbroken line.
    pub dashes: &'static str,
}

impl Stroke {
    pub const fn thin(colour: &'static str) -> Self {
        Self { colour, width: 1.0, dashes: "" }
    }

    pub const fn thick(colour: &'static str) -> Self {
        Self { colour, width: 2.0, dashes: "" }
    }

    #[must_use]
    pub const fn dashed(self) -> Self {
        self.with_dashes("5 4")
    }

    #[must_use]
    pub const fn with_dashes(self, dashes: &'static str) -> Self {
        Self { dashes, ..self }
    }

    fn attributes(self) -> String {
        let dashes = match self.dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        format!("stroke=\"{}\" stroke-width=\"{}\"{dashes}", self.colour, self.width)
    }
}

pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    description: String,
    body: String,
    /// Colours on a white page, with those that replace them on a dark one.
    on_dark: Vec<(&'static str, &'static str)>,
}

impl Svg {
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let (title, description) = (title.to_owned(), description.to_owned());
        let looks = palette::LOOKS.iter().map(|look| (look.light, look.dark));
        let on_dark = palette::ON_DARK.into_iter().chain(looks).collect();
        Self { width, height, title, description, body: String::new(), on_dark }
    }

    /// Sets the colour that replaces another one on a dark page.
    pub fn set_on_dark(&mut self, light: &'static str, dark: &'static str) {
        self.on_dark.push((light, dark));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("writing to a string");
        self.body.push('\n');
    }

    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Stroke) {
        let ([x1, y1], [x2, y2]) = (from.map(short), to.map(short));
        let stroke = stroke.attributes();
        self.add(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {stroke}/>"));
    }

    pub fn rectangle(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], fill: &str) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(short);
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"
        ));
    }

    /// An unfilled rectangle.
    pub fn outline(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], stroke: Stroke) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(short);
        let stroke = stroke.attributes();
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" {stroke}/>"
        ));
    }

    pub fn dot(&mut self, [x, y]: [f64; 2], fill: &str) {
        let [x, y] = [x, y].map(short);
        self.add(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{fill}\"/>"));
    }

    /// A marker, which distinguishes series independently of their colours.
    pub fn marker(&mut self, [x, y]: [f64; 2], marker: palette::Marker, fill: &str) {
        let [x, y] = [x, y].map(short);
        let path = marker.path();
        self.add(format_args!(
            "<path transform=\"translate({x} {y})\" d=\"{path}\" fill=\"{fill}\"/>"
        ));
    }

    /// Text with a given size and colour.
    pub fn styled(&mut self, [x, y]: [f64; 2], anchor: Anchor, style: &str, text: &str) {
        let ([x, y], anchor, text) = ([x, y].map(short), anchor.as_str(), escaped(text));
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {style}>{text}</text>"
        ));
    }

    pub fn path(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        let (points, stroke) = (joined(points), stroke.attributes());
        self.add(format_args!("<polyline points=\"{points}\" fill=\"none\" {stroke}/>"));
    }

    pub fn area(&mut self, points: &[[f64; 2]], fill: &str) {
        let points = joined(points);
        self.add(format_args!("<polygon points=\"{points}\" fill=\"{fill}\"/>"));
    }

    pub fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let ([x, y], anchor, text) = ([x, y].map(short), anchor.as_str(), escaped(text));
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// Vertical text, read from below.
    pub fn upright(&mut self, [x, y]: [f64; 2], text: &str) {
        let ([x, y], text) = ([x, y].map(short), escaped(text));
        self.add(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{text}</text>"
        ));
    }

    pub fn finish(self) -> String {
        let Self { width, height, title, description, body, on_dark } = self;
        let (title, description) = (escaped(&title), escaped(&description));
        let (ink, page) = (palette::INK, palette::PAGE);
        let drawing = format!(
            "fill=\"{ink}\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{page}\"/>\n{body}</svg>\n"
        );
        let style = dark_rules(&drawing, &on_dark);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" \
             font-size=\"12\" class=\"plot\" {}",
            drawing.replacen(">\n", &format!(">\n{style}\n"), 1)
        )
    }
}

/// A style that replaces the colours of a drawing on a dark page; unused colours are left out.
fn dark_rules(drawing: &str, on_dark: &[(&str, &str)]) -> String {
    let mut rules = String::new();
    for (light, dark) in on_dark {
        for property in ["fill", "stroke"] {
            let attribute = format!("{property}=\"{light}\"");
            if drawing.contains(&attribute) {
                let this = if *light == palette::INK && property == "fill" { ".plot," } else { "" };
                write!(rules, "{this}.plot [{attribute}]{{{property}:{dark}}}")
                    .expect("writing to a string");
            }
        }
    }
    format!("<style>@media (prefers-color-scheme:dark){{{rules}}}</style>")
}

fn joined(points: &[[f64; 2]]) -> String {
    let pairs = points.iter().map(|[x, y]| format!("{},{}", short(*x), short(*y)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A tenth of a pixel is enough.
fn short(value: f64) -> f64 {
    let short = (value * 10.0).round() / 10.0;
    if short == 0.0 { 0.0 } else { short }
}

/// Foreign names are always escaped.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Stroke, Svg};
    use crate::palette::{GRID, LOOKS};

    #[test]
    fn every_colour_of_a_drawing_is_replaced_on_a_dark_page() {
        let mut svg = Svg::new(1.0, 1.0, "t", "d");
        svg.set_on_dark("#abcdef", "#123456");
        svg.line([0.0, 0.0], [1.0, 1.0], Stroke::thin(GRID));
        svg.rectangle([0.0, 0.0], [1.0, 1.0], "#abcdef");
        svg.dot([0.0, 0.0], LOOKS[0].light);
        let text = svg.finish();
        let (style, drawing) = text.split_once("</style>").unwrap();
        assert!(style.contains("@media (prefers-color-scheme:dark)"), "{style}");
        for (property, colour) in drawing
            .split('"')
            .zip(drawing.split('"').skip(1))
            .filter(|(_, value)| value.starts_with('#'))
        {
            let property = property.trim().trim_end_matches('=');
            assert!(
                style.contains(&format!("[{property}=\"{colour}\"]{{{property}:#")),
                "{colour}"
            );
        }
        assert!(!style.contains(LOOKS[1].light), "unused colours need no rule");
    }

    #[test]
    fn names_cannot_become_markup() {
        let mut svg = Svg::new(1.0, 1.0, "<script>", "a & b");
        svg.text([0.0, 0.0], Anchor::Start, "</text><script>\u{0}");
        let text = svg.finish();
        assert!(!text.contains("<script>"));
        assert!(text.contains("&lt;/text&gt;&lt;script&gt; "));
    }
}
