package caught_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.org/parley/internal/caught"
)

func recovered(work func()) (p *caught.Panic) {
	defer func() { p = caught.New(recover()) }()
	work()
	return nil
}

func TestAPanicTellsWhereButNotWhat(t *testing.T) {
	t.Parallel()
	const secret = "sk-in-a-panic"
	var list []int
	for name, c := range map[string]struct {
		work  func()
		tells string
	}{
		"a text": {func() { panic(secret) }, "a value of type string"},
		"an error": {func() {
			panic(fmt.Errorf("with %w", errors.New(secret)))
		}, "a value of type *fmt.wrapError"},
		"an index": {func() { _ = list[len(secret)] }, "runtime error: index out of range [13] with length 0"},
		"a wrong type": {func() {
			_ = any(secret).(int)
		}, "interface conversion: interface {} is string, not int"}, //nolint:forcetypeassert // the intended fault
		"something missing": {func() { panic(nil) }, "panic called with nil argument"},
	} {
		got := recovered(c.work)
		if got.What() != c.tells || strings.Contains(got.Error(), secret) ||
			!strings.Contains(got.Stack(), "TestAPanicTellsWhereButNotWhat") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
