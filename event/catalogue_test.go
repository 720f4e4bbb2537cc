package event_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/event"
)

// TestEveryEventIsDescribed fails if an event lacks its struct, or a part of it lacks documentation.
func TestEveryEventIsDescribed(t *testing.T) {
	t.Parallel()
	seen := map[parley.EventType]bool{}
	for _, d := range event.Catalogue() {
		if seen[d.Event] {
			t.Errorf("%s is described twice", d.Event)
		}
		seen[d.Event] = true
		payload := event.New(d.Event)
		if payload == nil || payload.Type() != d.Event || reflect.TypeOf(payload).Elem() != d.Type {
			t.Errorf("%s: New makes %T", d.Event, payload)
		}
		if d.Durable == d.Live && !d.Feed || d.Live && d.Feed {
			t.Errorf("%s is not sent in any of the known ways", d.Event)
		}
		described(t, &d.Object)
	}
	for _, part := range event.Parts() {
		described(t, &part)
	}
	if event.New("nothing.such") != nil {
		t.Error("New makes an event that is not described")
	}
}

// described compares an object's description with its struct.
func described(t *testing.T, o *event.Object) {
	t.Helper()
	if o.Name != o.Type.Name() || o.Doc == "" || !strings.HasSuffix(o.Doc, ".") {
		t.Errorf("%s is documented as %q", o.Type, o.Doc)
	}
	var names, documented []string
	for _, f := range reflect.VisibleFields(o.Type) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			names = append(names, name)
		}
	}
	for _, f := range o.Fields {
		documented = append(documented, f.Name)
		if !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s.%s is documented as %q", o.Name, f.Name, f.Doc)
		}
	}
	if diff := cmp.Diff(names, documented); diff != "" {
		t.Errorf("%s: members (-struct +described)\n%s", o.Name, diff)
	}
}

// TestEventsOfTheRequirements compares the catalogue with the list of C4 in the project's requirements.
func TestEventsOfTheRequirements(t *testing.T) {
	t.Parallel()
	want := map[parley.EventType]string{"resync": "live", "step.generating": "live", "object.patch": "live"}
	for _, durable := range []parley.EventType{
		"step.started", "step.generated", "step.error", "step.retrying", "message.created", "message.queued",
		"message.removed", "message.marked",
		"tool.started", "tool.progress", "tool.completed", "session.started", "session.completed", "session.failed",
		"session.cancelled",
		"session.waiting", "approval.created", "approval.resolved", "limit.warning",
	} {
		want[durable] = "durable"
	}
	for _, d := range event.Catalogue() {
		is := "durable"
		if d.Live {
			is = "live"
		}
		if d.Reserved {
			is += ", reserved"
		}
		if wanted, asked := want[d.Event]; asked && wanted != is {
			t.Errorf("%s is %s, want %s", d.Event, is, wanted)
		}
		delete(want, d.Event)
	}
	for kind := range want {
		t.Errorf("%s is not described", kind)
	}
}

// TestEncodersMatchTheStructs compares the generated encoders with encoding/json, once with every optional value
// present and once with all absent, and decodes the output again.
func TestEncodersMatchTheStructs(t *testing.T) {
	t.Parallel()
	objects := event.Parts()
	for _, d := range event.Catalogue() {
		objects = append(objects, d.Object)
	}
	for _, o := range objects {
		for _, full := range []bool{false, true} {
			value := reflect.New(o.Type)
			fill(value.Elem(), full)
			want, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			got := encoded(t, value)
			if same, other := canonical(t, want), canonical(t, got); same != other {
				t.Errorf("%s:\n encoding/json %s\n     generated %s", o.Name, same, other)
			}
			back := reflect.New(o.Type)
			if err := json.Unmarshal(got, back.Interface()); err != nil {
				t.Errorf("%s: %v in %s", o.Name, err, got)
			} else if again := encoded(t, back); string(again) != string(got) {
				t.Errorf("%s is read back as %s, was %s", o.Name, again, got)
			}
		}
	}
}

// encoded calls a struct's AppendJSON on a slice with existing bytes, which it must not change.
func encoded(t *testing.T, value reflect.Value) []byte {
	t.Helper()
	out := value.MethodByName("AppendJSON").Call([]reflect.Value{reflect.ValueOf([]byte("before"))})
	if len(out) > 1 && !out[1].IsNil() {
		t.Fatal(out[1])
	}
	rest, ok := strings.CutPrefix(string(out[0].Bytes()), "before")
	if !ok {
		t.Fatalf("%s writes over what was there: %s", value.Type(), out[0].Bytes())
	}
	return []byte(rest)
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	out, err := parley.CanonicalJSON(raw)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return string(out)
}

// fill sets every field, or only those that are never absent.
func fill(v reflect.Value, full bool) {
	switch v.Interface().(type) {
	case parley.ID:
		v.Set(reflect.ValueOf(parley.ID{0: 1, 6: 0x70, 8: 0x80, 15: 7}))
		return
	case parley.Hash:
		v.Set(reflect.ValueOf(parley.HashOf([]byte("x"))))
		return
	case json.RawMessage:
		if full {
			v.SetBytes([]byte(`{"text":"<é>\u2028"}`))
		}
		return
	case json.Number:
		if full {
			v.SetString("1.25")
		}
		return
	case parley.Session, parley.Turn, parley.Failure: // they encode themselves
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if full {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), full)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), full)
		}
	case reflect.Slice:
		if v.Set(reflect.MakeSlice(v.Type(), 0, 2)); full {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), full)
			fill(v.Index(1), false)
		}
	case reflect.String:
		if full {
			v.SetString("a \"b\" <c>\n\x01 é")
		}
	case reflect.Bool:
		v.SetBool(full)
	case reflect.Int, reflect.Int64:
		if full {
			v.SetInt(-1_700_000_000_123)
		}
	case reflect.Float64:
		if full {
			v.SetFloat(0.125)
		}
	default:
		panic("cannot fill " + v.Type().String())
	}
}
