//! A kernel as a subject tells of it.

use crate::kernel::{Group, Kernel};

/// What a subject's list says of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// As on the command line.
    pub name: String,
    /// What kind of kernel it is.
    pub group: Group,
    /// What one operation is.
    pub operation: String,
    /// Names and defaults, as on the command line: `cycles=100000 live=256`.
    pub parameters: String,
    /// What it does, with its sizes, in one sentence.
    pub about: String,
}

impl Listed {
    /// A line of the list: fields with tabs between them.
    pub(crate) fn line(kernel: &Kernel) -> String {
        let parameters = kernel.parameters.iter();
        let parameters: Vec<_> =
            parameters.map(|told| format!("{}={}", told.name, told.default)).collect();
        let Kernel { name, group, operation, about, .. } = kernel;
        format!("{name}\t{}\t{operation}\t{}\t{about}\n", group.name(), parameters.join(" "))
    }

    /// From what a subject printed; an error quotes the line that is not of this form.
    pub fn parse(list: &str) -> Result<Vec<Listed>, String> {
        let listed = |line: &str| {
            let [name, group, operation, parameters, about] =
                line.split('\t').collect::<Vec<_>>().try_into().ok()?;
            let [name, operation, parameters, about] =
                [name, operation, parameters, about].map(str::to_owned);
            Some(Listed { name, group: Group::parse(group)?, operation, parameters, about })
        };
        let or_quote =
            |line| listed(line).ok_or_else(|| format!("no kernel is listed by `{line}`"));
        list.lines().map(or_quote).collect()
    }
}

impl Group {
    const ALL: [Group; 3] = [Group::Pattern, Group::Threads, Group::Program];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Group::Pattern => "pattern",
            Group::Threads => "threads",
            Group::Program => "program",
        }
    }

    fn parse(name: &str) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Listed;

    #[test]
    fn every_kernel_is_read_as_it_was_listed() {
        let kernels = crate::kernels();
        let list: String = kernels.iter().map(Listed::line).collect();
        let listed = Listed::parse(&list).unwrap();
        assert_eq!(listed.len(), kernels.len());
        for (listed, kernel) in listed.iter().zip(&kernels) {
            assert_eq!((listed.name.as_str(), listed.group), (kernel.name, kernel.group));
            assert_eq!(listed.about, kernel.about);
        }
    }

    #[test]
    fn another_line_is_quoted() {
        let message = "no kernel is listed by `pair`";
        assert_eq!(Listed::parse("pair\n"), Err(message.to_owned()));
    }
}
