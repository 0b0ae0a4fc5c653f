//! What the figures were taken on, as /proc tells it: processor and kernel, no names.

use std::fs;
use std::process::Command;
use std::thread;

/// One line.
pub(crate) fn describe() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let noun = if cores == 1 { "core" } else { "cores" };
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let processor = processor(&read("/proc/cpuinfo")).unwrap_or("unknown processor").to_owned();
    let release = read("/proc/sys/kernel/osrelease");
    format!("{processor}, {cores} {noun}, Linux {}", kernel(&release))
}

/// The compiler that the working folder asks for.
pub(crate) fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().ok();
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    // What stands in brackets says the same again.
    let version = text.as_deref().and_then(|text| text.split(" (").next()).map(str::trim);
    version.filter(|version| !version.is_empty()).unwrap_or("rustc of unknown version").to_owned()
}

fn processor(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim())
}

/// The version without what a distributor or a host added to it.
fn kernel(release: &str) -> &str {
    let end = release.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    end.map_or(release, |end| &release[..end])
}

#[cfg(test)]
mod tests {
    use super::{kernel, processor};

    #[test]
    fn a_processor_has_its_name() {
        let text = "processor\t: 0\nmodel name\t: Some Processor @ 2.0GHz\nmodel name\t: Other\n";
        assert_eq!(processor(text), Some("Some Processor @ 2.0GHz"));
        assert_eq!(processor("processor\t: 0\n"), None);
    }

    #[test]
    fn a_kernel_has_its_version_only() {
        assert_eq!(kernel("6.1.0-21-amd64\n"), "6.1.0");
        assert_eq!(kernel("6.18.5\n"), "6.18.5");
    }
}
