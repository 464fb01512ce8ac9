//! The only table of phase looks: letter, colours on light and dark pages, colours of a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, Style};
use firstlight_schema::phase::Phase;

/// Phases of one kind share their colours; the letter distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Outside,
    Own,
    Import,
    Setup,
    Trace,
    Lower,
    Compile,
    Cache,
    Run,
    Exit,
    /// The host waits for a result to be copied from a device; only in traces.
    Fetch,
    Unattributed,
}

/// A fill, and the text colour that is legible on it.
type Pair = (&'static str, &'static str);

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Outside,
        Self::Own,
        Self::Import,
        Self::Setup,
        Self::Trace,
        Self::Lower,
        Self::Compile,
        Self::Cache,
        Self::Run,
        Self::Exit,
        Self::Fetch,
        Self::Unattributed,
    ];

    /// Its class, its colours on a light page, on a dark one, and in a terminal.
    const fn look(self) -> (&'static str, Pair, Pair, (AnsiColor, AnsiColor)) {
        use AnsiColor::{
            Black, Blue, BrightBlack, BrightBlue, BrightCyan, BrightGreen, BrightWhite,
            BrightYellow, Cyan, Green, Magenta, White, Yellow,
        };
        match self {
            Self::Outside => {
                ("p-outside", ("#c9d1d9", "#1b1f24"), ("#4b5661", "#fff"), (White, Black))
            }
            Self::Own => {
                ("p-own", ("#6e7781", "#fff"), ("#8b949e", "#0f1318"), (BrightBlack, BrightWhite))
            }
            Self::Import => {
                ("p-import", ("#0072b2", "#fff"), ("#4493d8", "#06121c"), (Blue, BrightWhite))
            }
            Self::Setup => {
                ("p-setup", ("#7fc4e8", "#10222e"), ("#9ad4f2", "#10222e"), (Cyan, Black))
            }
            Self::Trace => {
                ("p-trace", ("#f3dd55", "#2b2500"), ("#f3dd55", "#2b2500"), (BrightYellow, Black))
            }
            Self::Lower => {
                ("p-lower", ("#e69f00", "#2b1d00"), ("#e69f00", "#2b1d00"), (Yellow, Black))
            }
            // Red is reserved for errors.
            Self::Compile => {
                ("p-compile", ("#b8430a", "#fff"), ("#ef7f45", "#220b00"), (Magenta, BrightWhite))
            }
            Self::Cache => {
                ("p-cache", ("#a8457d", "#fff"), ("#e08abb", "#2b0a1d"), (BrightCyan, Black))
            }
            Self::Run => ("p-run", ("#00795a", "#fff"), ("#3fc795", "#04170f"), (Green, Black)),
            Self::Exit => {
                ("p-exit", ("#4a4e69", "#fff"), ("#b8b5d6", "#14131f"), (BrightBlue, Black))
            }
            Self::Fetch => {
                ("p-fetch", ("#6b4a2b", "#fff"), ("#8a5a2e", "#fff"), (BrightGreen, Black))
            }
            Self::Unattributed => (
                "p-unattributed",
                ("#eaeef2", "#1b1f24"),
                ("#2a333c", "#e6edf3"),
                (BrightWhite, Black),
            ),
        }
    }

    pub(crate) const fn class(self) -> &'static str {
        self.look().0
    }

    /// The fills on a white and on a dark page.
    pub(crate) const fn fills(self) -> (&'static str, &'static str) {
        let (_, (light, _), (dark, _), _) = self.look();
        (light, dark)
    }
}

pub(crate) const fn kind(phase: Phase) -> Kind {
    match phase {
        Phase::Spawn | Phase::Launcher | Phase::Children => Kind::Outside,
        Phase::Interpreter | Phase::Probe => Kind::Own,
        Phase::Import => Kind::Import,
        Phase::DeviceInit | Phase::Setup => Kind::Setup,
        Phase::Trace => Kind::Trace,
        Phase::Lower => Kind::Lower,
        Phase::Compile => Kind::Compile,
        Phase::CacheRead | Phase::CacheWrite => Kind::Cache,
        Phase::FirstRun | Phase::WarmUp | Phase::Window | Phase::Run => Kind::Run,
        Phase::Teardown => Kind::Exit,
        Phase::Unattributed => Kind::Unattributed,
    }
}

/// The letter for a phase in a bar and in its row.
pub(crate) const fn letter(phase: Phase) -> char {
    match phase {
        Phase::Spawn => 's',
        Phase::Launcher => 'a',
        Phase::Interpreter => 'p',
        Phase::Probe => 'f',
        Phase::Import => 'I',
        Phase::DeviceInit => 'd',
        Phase::Setup => 'S',
        Phase::Trace => 't',
        Phase::Lower => 'l',
        Phase::Compile => 'C',
        Phase::CacheRead => 'r',
        Phase::CacheWrite => 'w',
        Phase::FirstRun => '1',
        Phase::WarmUp => 'u',
        Phase::Window => 'W',
        Phase::Run => 'R',
        Phase::Children => 'c',
        Phase::Teardown => 'x',
        Phase::Unattributed => '?',
    }
}

/// The colours of a phase in a terminal.
pub(crate) fn style(phase: Phase) -> Style {
    cell(kind(phase))
}

/// The colours of every kind in a terminal.
pub(crate) fn cells() -> impl Iterator<Item = Style> {
    Kind::ALL.into_iter().map(cell)
}

fn cell(kind: Kind) -> Style {
    let (back, front) = kind.look().3;
    Style::new().bg_color(Some(Color::Ansi(back))).fg_color(Some(Color::Ansi(front)))
}

/// The rules of a style sheet that give every kind its colours.
pub(crate) fn rules() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    let mut classes = String::new();
    for kind in Kind::ALL {
        let (class, (fill, ink), (dark_fill, dark_ink), _) = kind.look();
        write!(light, "--{class}:{fill};--{class}-i:{ink};").expect("a string");
        write!(dark, "--{class}:{dark_fill};--{class}-i:{dark_ink};").expect("a string");
        write!(
            classes,
            ".{class}{{fill:var(--{class})}}svg .letter.{class}{{fill:var(--{class}-i)}}"
        )
        .expect("a string");
    }
    format!(
        ":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{classes}"
    )
}
