package history

import (
	"testing"

	"example.org/parley"
)

// What was wrong inside a message keeps its kind: a file that is too large is not a mistake in its text.
func TestAnErrorInsideKeepsItsCode(t *testing.T) {
	t.Parallel()
	err := Within("messages[2]", &parley.Error{Code: parley.CodeTooLarge, Field: "file", Message: "file: is long"})
	if got := err.Error(); parley.ErrorCode(err) != parley.CodeTooLarge || got != "messages[2].file: is long" {
		t.Errorf("it is %s: %s", parley.ErrorCode(err), got)
	}
}
