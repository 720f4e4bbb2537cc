package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEveryPatchFieldBelongsToSomebody fails for a new field of SessionPatch until one of the lists says who may change
// it in somebody else's session.
func TestEveryPatchFieldBelongsToSomebody(t *testing.T) {
	t.Parallel()
	named := func(fields []patchField) (names []string) {
		for _, field := range fields {
			if field.named {
				names = append(names, field.name)
			}
		}
		return names
	}
	count := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[SessionPatch]()) {
		if field.Anonymous || field.Tag.Get("json") == "-" { // If is a condition, not a field
			continue
		}
		count++
		var patch SessionPatch
		reflect.ValueOf(&patch).Elem().FieldByIndex(field.Index).FieldByName("Set").SetBool(true)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if got := append(
			named(patch.anybodysFields()),
			named(patch.ownersFields())...); !slices.Equal(
			got,
			[]string{name},
		) {
			t.Errorf("a patch of %s alone names %v", name, got)
		}
	}
	var none SessionPatch
	if got := len(none.anybodysFields()) + len(none.ownersFields()); got != count {
		t.Errorf("the lists have %d fields, the patch %d", got, count)
	}
}
