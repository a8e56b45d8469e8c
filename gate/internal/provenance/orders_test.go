package provenance

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callgate/internal/textscan"
)

// TestLongOrders: the quick looks at a long text pass over no order that a look around every word finds.
func TestLongOrders(t *testing.T) {
	words := append(strings.Fields("tool url @ must call the system message now visit ://"), orderWords...)
	rapid.Check(t, func(t *rapid.T) {
		between := rapid.SampledFrom([]string{" ", "", "\n", "_"}).Draw(t, "between")
		said := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "words"), between)
		noise := rapid.SampledFrom([]string{"x", "aB3/", "the_"}).Draw(t, "noise")
		text := strings.Repeat(noise, textscan.Long/len(noise)) + said + noise
		want := slices.ContainsFunc(orderWords, func(word string) bool { return ordersWith(text, word) })
		if got := orders([]byte(text)); got != want {
			t.Errorf("%q between %q: orders: %v, want %v", said, noise, got, want)
		}
	})
}
