package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// TestLabelsFromOutsideAreBounded: in number and in length, and valid text.
func TestLabelsFromOutsideAreBounded(t *testing.T) {
	t.Parallel()
	n := newNames(3)
	for name, want := range map[string]string{
		strings.Repeat("x", maxLabelBytes+1): other, "\xff": other,
		strings.Repeat("y", maxLabelBytes): strings.Repeat("y", maxLabelBytes), "one": "one",
	} {
		if got := n.label(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	seen := map[string]bool{}
	for i := range 1000 {
		seen[n.label(fmt.Sprintf("name %d", i))] = true
	}
	if len(seen) != 2 || !seen[other] || n.label("one") != "one" {
		t.Errorf("1,000 names give %d values beside the two existing ones", len(seen))
	}
	if got := classOf(&parley.Failure{Class: "of an agent elsewhere"}); got != parley.ClassInternal {
		t.Errorf("an unknown class is %q", got)
	}
	if got := classOf(&parley.Failure{Class: parley.ClassStream}); got != parley.ClassStream {
		t.Errorf("a known class is %q", got)
	}
}
