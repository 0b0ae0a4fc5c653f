//! Models of charges near a limit.

use loom::thread;

use super::*;
use crate::sync::modelled::check;

/// A charge that is refused does not make another fail that fits.
#[test]
fn a_refused_charge_disturbs_no_other() {
    static ACCOUNT: Account = Account::new("Model", Terms { limit: 100, ..Terms::DEFAULT });
    check(4, || {
        assert!(ACCOUNT.charge(40));
        let other = thread::spawn(|| assert!(!ACCOUNT.charge(61)));
        assert!(ACCOUNT.charge(60));
        other.join().unwrap();
        assert_eq!(ACCOUNT.held(), 100);
    });
}

/// The limit holds, whoever comes first.
#[test]
fn two_charges_share_what_is_left() {
    static ACCOUNT: Account = Account::new("Model", Terms { limit: 100, ..Terms::DEFAULT });
    check(4, || {
        assert!(ACCOUNT.charge(40));
        let other = thread::spawn(|| ACCOUNT.charge(usize::MAX - 50) || ACCOUNT.charge(50));
        let mine = ACCOUNT.charge(30);
        let others = other.join().unwrap();
        assert_eq!(ACCOUNT.held(), 40 + 30 * usize::from(mine) + 50 * usize::from(others));
        assert!(ACCOUNT.held() <= 100);
        assert!(mine || others);
    });
}
