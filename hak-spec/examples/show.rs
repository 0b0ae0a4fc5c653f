//! x
fn main() {
    for a in std::env::args().skip(1) {
        match hak_spec::load(std::path::Path::new(&a)) {
            Ok(s) => {
                println!(
                    "{} {} {:?} {:?} {} {} {:?}",
                    s.name, s.summary, s.layers, s.hints, s.spans_to, s.keep, s.files
                );
                for c in s.classes {
                    println!("{c:?} tail {}", c.tail())
                }
            }
            Err(r) => print!("{}", r.render()),
        }
    }
}
