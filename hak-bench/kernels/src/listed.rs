//! A kernel as a subject tells of it.

use std::fmt;

use crate::kernel::{Group, Kernel, Parameter};

/// What a subject's list says of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// As on the command line.
    pub name: String,
    /// What kind of kernel it is.
    pub group: Group,
    /// What one operation is.
    pub operation: String,
    /// In the order of the command line.
    pub parameters: Vec<ListedParameter>,
    /// What it does, with its sizes, in one sentence.
    pub about: String,
}

/// What a subject's list says of one parameter: that of [`Parameter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedParameter {
    /// In one word.
    pub name: String,
    /// Used when it is not told.
    pub default: u64,
    /// The least number that the kernel can do with.
    pub least: u64,
    /// The greatest one.
    pub most: u64,
}

impl Listed {
    /// A line of the list: fields with tabs between them. A parameter is its name, its default,
    /// and its bounds: `live=256:1:1024`.
    pub(crate) fn line(kernel: &Kernel) -> String {
        let parameter = |Parameter { name, default, least, most }: &Parameter| {
            format!("{name}={default}:{least}:{most}")
        };
        let parameters: Vec<_> = kernel.parameters.iter().map(parameter).collect();
        let Kernel { name, group, operation, about, .. } = kernel;
        format!("{name}\t{}\t{operation}\t{}\t{about}\n", group.name(), parameters.join(" "))
    }

    /// From what a subject printed; an error quotes the line that is not of this form.
    pub fn parse(list: &str) -> Result<Vec<Listed>, String> {
        let listed = |line: &str| {
            let [name, group, operation, parameters, about] =
                line.split('\t').collect::<Vec<_>>().try_into().ok()?;
            let parameters = parameters.split(' ').filter(|told| !told.is_empty());
            let parameters = parameters.map(ListedParameter::parse).collect::<Option<_>>()?;
            let [name, operation, about] = [name, operation, about].map(str::to_owned);
            Some(Listed { name, group: Group::parse(group)?, operation, parameters, about })
        };
        let or_quote =
            |line| listed(line).ok_or_else(|| format!("no kernel is listed by `{line}`"));
        list.lines().map(or_quote).collect()
    }

    /// The parameters with their defaults: `cycles=100000 live=256`.
    pub fn defaults(&self) -> String {
        let parameters: Vec<_> =
            self.parameters.iter().map(|it| format!("{}={}", it.name, it.default)).collect();
        parameters.join(" ")
    }
}

impl ListedParameter {
    fn parse(told: &str) -> Option<ListedParameter> {
        let (name, numbers) = told.split_once('=')?;
        let numbers = numbers.split(':').map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        let [default, least, most] = numbers.try_into().ok()?;
        Some(ListedParameter { name: name.to_owned(), default, least, most })
    }

    /// Whether the kernel can do with a number.
    pub fn takes(&self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

/// Its name and its bounds.
impl fmt::Display for ListedParameter {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let ListedParameter { name, least, most, .. } = self;
        match (*least, *most) {
            (0, u64::MAX) => write!(formatter, "{name} (any number)"),
            (least, u64::MAX) => write!(formatter, "{name} ({least} or more)"),
            (least, most) => write!(formatter, "{name} ({least} to {most})"),
        }
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
    use super::{Listed, ListedParameter};

    #[test]
    fn every_kernel_is_read_as_it_was_listed() {
        let kernels = crate::kernels();
        let list: String = kernels.iter().map(Listed::line).collect();
        let listed = Listed::parse(&list).unwrap();
        assert_eq!(listed.len(), kernels.len());
        for (listed, kernel) in listed.iter().zip(&kernels) {
            assert_eq!((listed.name.as_str(), listed.group), (kernel.name, kernel.group));
            assert_eq!(listed.about, kernel.about);
            assert_eq!(listed.parameters.len(), kernel.parameters.len());
            for (listed, told) in listed.parameters.iter().zip(kernel.parameters) {
                assert_eq!((listed.name.as_str(), listed.default), (told.name, told.default));
                assert_eq!((listed.least, listed.most), (told.least, told.most));
            }
        }
    }

    #[test]
    fn another_line_is_quoted() {
        let message = "no kernel is listed by `pair`";
        assert_eq!(Listed::parse("pair\n"), Err(message.to_owned()));
        let line = "pair\tpattern\tmake\tcycles=1\tmakes";
        assert_eq!(Listed::parse(line), Err(format!("no kernel is listed by `{line}`")));
    }

    #[test]
    fn bounds_are_told() {
        let told = |least, most| {
            ListedParameter { name: "live".to_owned(), default: 8, least, most }.to_string()
        };
        assert_eq!(told(0, u64::MAX), "live (any number)");
        assert_eq!(told(1, u64::MAX), "live (1 or more)");
        assert_eq!(told(1, 9), "live (1 to 9)");
    }
}
