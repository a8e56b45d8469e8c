package shellparse

import "testing"

// Values of variables that every CI file sets need no mention; what loads code by the same variable does.
func TestCompilerFlags(t *testing.T) {
	for text, want := range map[string]string{
		`RUSTFLAGS="-D warnings" cargo check`:                         "allow",
		`RUSTFLAGS=-Dwarnings cargo test`:                             "allow",
		`RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links" cargo doc`: "allow",
		`RUSTFLAGS="-C target-cpu=native" cargo build --release`:      "allow",
		`RUSTFLAGS="-C instrument-coverage" cargo test`:               "allow",
		`RUSTFLAGS="-C linker=/tmp/x" cargo check`:                    "ask",
		`RUSTFLAGS="-Clinker=/tmp/x" cargo check`:                     "ask",
		`RUSTFLAGS="-C linker=evil" cargo check`:                      "ask",
		`RUSTFLAGS="-D warnings -C linker=/tmp/x" cargo check`:        "ask",
		`RUSTFLAGS="-C link-arg=-fuse-ld=/tmp/x" cargo check`:         "ask",
		`RUSTFLAGS="-Zcodegen-backend=/tmp/x.so" cargo check`:         "ask",
		`RUSTFLAGS="--extern x=/tmp/x.so" cargo check`:                "ask",
		`RUSTFLAGS="-L /tmp" cargo check`:                             "ask",
		`RUSTFLAGS="@/tmp/x" cargo check`:                             "ask",
		`RUSTFLAGS="-C debuginfo=1/../x" cargo check`:                 "ask",
		`RUSTFLAGS="$X" cargo check`:                                  "ask",
		`RUSTFLAGS="-D warnings $X" cargo check`:                      "ask",
		`CARGO_ENCODED_RUSTFLAGS="-D warnings" cargo check`:           "ask",
		`export RUSTFLAGS="-D warnings"; cargo check`:                 "allow",
		`env RUSTFLAGS="-D warnings" cargo check`:                     "allow",
		`env RUSTFLAGS="-C linker=/tmp/x" cargo check`:                "ask",
		`RUSTC_WRAPPER=/tmp/x RUSTFLAGS="-D warnings" cargo check`:    "ask",
		`RUSTFLAGS="-C codegen-units=1 -C lto=fat" cargo build`:       "allow",
		`RUSTFLAGS="--cfg tokio_unstable" cargo test`:                 "allow",
	} {
		s := Parse(text, Options{Dir: "/w"})
		if got := judge(s, []string{"cargo *", "export *"}, nil, nil); got != want {
			t.Errorf("%s: %s, want %s%s", text, got, want, describe(s))
		}
	}
}
