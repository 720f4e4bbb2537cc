package stream_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/stream"
)

// grows appends to a stream and returns what its reader then gets: each delta's text, and each patch.
func (b *bench) grows(writing *live.Stream, watched *stream.Stream, text string) (got []string) {
	b.Helper()
	writing.Append(parley.KindText, text)
	for first := true; first || watched.Buffered(); first = false {
		frame, err := watched.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		switch frame.Kind {
		case stream.DeltaFrame:
			got = append(got, frame.Delta.Text)
		case stream.PatchFrame:
			for i := range frame.Patch.Patch {
				got = append(got, string(frame.Patch.Patch[i].AppendJSON(nil)))
			}
		default:
			b.Fatalf("unexpected frame %+v", frame)
		}
	}
	return got
}

// Each delta by which an object grows is followed by its patch. A late reader begins with the object so far, and a text
// that is no object has no patches, from where it is none.
func TestObjectsGrow(t *testing.T) {
	bubble(t, func(b *bench) {
		watched := b.follow(b.all())
		open := func() *live.Stream {
			return b.hub.Open(live.StreamRef{SessionID: b.session, MessageID: parley.NewID(), Epoch: 1})
		}
		writing := open()
		for _, c := range [][]string{
			{" ", " "},
			{`{"a":"x`, `{"a":"x`, `{"op":"replace","path":"","value":{"a":"x"}}`},
			{`y`, `y`, `{"op":"append","path":"/a","value":"y"}`},
			{`","b":1`, `","b":1`},
		} {
			if got := b.grows(writing, watched, c[0]); strings.Join(got, "\n") != strings.Join(c[1:], "\n") {
				b.Errorf("after %q the reader gets %q", c[0], got)
			}
		}
		late := b.follow(b.all())
		want := ` {"a":"xy","b":1, "c":[` + "\n" + `{"op":"replace","path":"","value":{"a":"xy","b":1,"c":[]}}`
		if got := b.grows(writing, late, `, "c":[`); strings.Join(got, "\n") != want {
			b.Errorf("a late reader gets %q", got)
		}
		writing.Drop()
		for _, text := range []string{"Bonn", `["a"]`} {
			writing = open()
			fresh := b.follow(b.all())
			if got := b.grows(writing, fresh, text); len(got) != 1 {
				b.Errorf("of %q the reader gets %q", text, got)
			}
			writing.Drop()
		}
		writing = open()
		broken := b.follow(b.all())
		b.grows(writing, broken, `{"a":1,"a`)
		if got := b.grows(writing, broken, `":2}`); len(got) != 1 {
			b.Errorf("of a name that repeats the reader gets %q", got)
		}
		writing.Drop()
	})
}
