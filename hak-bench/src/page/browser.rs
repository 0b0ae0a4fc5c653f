//! The page in a browser: Chromium draws it, and is asked what came of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs};

use headless_chrome::browser::default_executable;
use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::Emulation::{
    MediaFeature, SetDeviceMetricsOverride, SetEmulatedMedia,
};
use headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde_json::Value;

use crate::page::{made_up, render};

const MISSING: &str = "the page's test needs Chromium: install it (Debian: `apt-get install \
                       chromium`), or set CHROME to its path";

/// From the narrowest screen to the widest that the page is made for, in pixels.
const WIDTHS: [u32; 5] = [380, 600, 800, 1200, 1600];

/// Names a folder to which the page of the test and pictures of it are written.
const KEEP: &str = "HAK_BENCH_KEEP";

/// A tab with the page, and what the page complained of.
struct Opened {
    tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    folder: tempfile::TempDir,
}

impl Opened {
    fn new(page: &str) -> Opened {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        fs::write(&file, page).unwrap();
        let browser = browser(&folder.path().join("profile"));
        let tab = browser.new_tab().unwrap();
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&complaints);
        let listen = move |event: &Event| heard.lock().unwrap().extend(complaint(event));
        tab.add_event_listener(Arc::new(listen)).unwrap();
        tab.enable_runtime().unwrap();
        tab.enable_log().unwrap();
        tab.navigate_to(&format!("file://{}", file.display())).unwrap();
        tab.wait_until_navigated().unwrap();
        tab.evaluate(include_str!("questions.js"), false).unwrap();
        Opened { tab, complaints, _browser: browser, folder }
    }

    fn resize(&self, width: u32) {
        let metrics = SetDeviceMetricsOverride {
            width,
            height: 1600,
            device_scale_factor: 1.0,
            mobile: false,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        };
        self.tab.call_method(metrics).unwrap();
    }

    fn use_colours(&self, scheme: &str) {
        let (name, value) = ("prefers-color-scheme".to_owned(), scheme.to_owned());
        let features = Some(vec![MediaFeature { name, value }]);
        self.tab.call_method(SetEmulatedMedia { media: None, features }).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("page.html")
    }

    /// Moves the pointer to the middle of an element.
    fn point_at(&self, selector: &str) {
        let middle = self.ask(&format!("questions.middle('{selector}')"));
        let part = |at: usize| middle[at].as_f64().expect("the element has a middle");
        self.tab.move_mouse_to_point(Point { x: part(0), y: part(1) }).unwrap();
    }

    /// What an expression of the page's script language comes to.
    fn ask(&self, question: &str) -> Value {
        let answer = self.tab.evaluate(&format!("JSON.stringify({question})"), false).unwrap();
        let text = answer.value.expect("there is an answer");
        serde_json::from_str(text.as_str().expect("it is JSON")).unwrap()
    }

    /// The upper part of the page, a picture for each screen of it.
    fn take_pictures(&self, folder: &Path, name: &str) {
        for screen in 0..6 {
            self.ask(&format!(
                "scrollTo({{ top: innerHeight * {screen}, behavior: 'instant' }}) ?? 0"
            ));
            let format = CaptureScreenshotFormatOption::Png;
            let picture = self.tab.capture_screenshot(format, None, None, true).unwrap();
            fs::write(folder.join(format!("{name}-{screen}.png")), picture).unwrap();
        }
    }
}

fn browser(profile: &Path) -> Browser {
    let path: PathBuf = default_executable().expect(MISSING);
    let arguments = ["--disable-quic", "--disable-component-update", "--hide-scrollbars"];
    let options = LaunchOptions {
        path: Some(path),
        sandbox: false,
        user_data_dir: Some(profile.to_owned()),
        args: arguments.map(OsStr::new).to_vec(),
        ..LaunchOptions::default()
    };
    Browser::new(options).expect("Chromium is there and does not start")
}

fn complaint(event: &Event) -> Option<String> {
    match event {
        Event::RuntimeExceptionThrown(thrown) => Some(format!("{:?}", thrown.params)),
        Event::RuntimeConsoleAPICalled(call) => Some(format!("{:?}", call.params)),
        Event::LogEntryAdded(entry) => Some(entry.params.entry.text.clone()),
        _ => None,
    }
}

fn nothing() -> Value {
    Value::Array(Vec::new())
}

#[test]
fn a_browser_shows_the_page() {
    let opened = Opened::new(&render(&made_up::results()));
    let keep = env::var_os(KEEP).map(PathBuf::from);
    if let Some(folder) = &keep {
        fs::create_dir_all(folder).unwrap();
        fs::copy(opened.file(), folder.join("page.html")).unwrap();
    }
    for scheme in ["light", "dark"] {
        opened.use_colours(scheme);
        assert_eq!(opened.ask("questions.faint()"), nothing(), "{scheme}");
        for width in WIDTHS {
            opened.resize(width);
            assert_eq!(opened.ask("questions.overflow()"), 0, "{scheme} {width}");
            assert_eq!(opened.ask("questions.overlaps()"), nothing(), "{scheme} {width}");
            if let Some(folder) = &keep {
                opened.take_pictures(folder, &format!("{scheme}-{width}"));
            }
        }
    }
    assert_eq!(opened.ask("questions.loaded()"), nothing());
    assert_eq!(*opened.complaints.lock().unwrap(), [""; 0]);
}

#[test]
fn pointer_and_focus_show_figures() {
    let opened = Opened::new(&render(&made_up::results()));
    opened.resize(1200);
    let told = |selector: &str| {
        opened.point_at(selector);
        opened.ask("questions.told()").as_str().unwrap_or_default().to_owned()
    };
    assert!(told("#map .system .shape").starts_with("system: time 1."), "a mark");
    assert!(told(".kernel td.time").contains(" best"), "a bar");
    let lines = told(".lines");
    let (moment, lines) = lines.split_once(" ms, MiB\n").unwrap();
    assert!(moment.parse::<u32>().unwrap() > 50, "{moment}");
    let figure = |line: &str| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
    let figures: Vec<f64> = lines.lines().map(figure).collect();
    assert!(figures.len() > 3, "{lines}");
    assert!(figures.is_sorted_by(|a, b| a >= b), "{lines}");
    assert_eq!(told("h1"), "", "a title has no figures");
    for selector in ["#map .mark", ".lines .mark"] {
        let name = opened.ask(&format!("questions.focus('{selector}')"));
        let told = opened.ask("questions.told()");
        assert!(told.as_str().unwrap().starts_with(name.as_str().unwrap()), "{name} {told}");
    }
    assert_eq!(*opened.complaints.lock().unwrap(), [""; 0]);
}
