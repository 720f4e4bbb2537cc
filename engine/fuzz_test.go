package engine

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/upload"
)

// FuzzFile: an upload's bytes are inspected, and scaled down if they are an image of an allowed size.
func FuzzFile(f *testing.F) {
	small := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	for _, encode := range []func(to *bytes.Buffer) error{
		func(to *bytes.Buffer) error { return png.Encode(to, small) },
		func(to *bytes.Buffer) error { return jpeg.Encode(to, small, nil) },
		func(to *bytes.Buffer) error { return gif.Encode(to, small, nil) },
	} {
		var out bytes.Buffer
		if err := encode(&out); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00/"))
	f.Add([]byte("RIFF\x26\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"VP8L\x08\x00\x00\x00/\xff\xff\xff\x0f\x88\x88\x08"))
	f.Add([]byte("%PDF-1.7"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var look upload.Inspection
		for i := 0; i < len(raw); i += 7 {
			look.Look(raw[i:min(i+7, len(raw))])
		}
		mediaType, width, height := look.Found()
		const most = 1 << 20 // pixels; Thumbnail's own bound is larger
		if mediaType == "" || width <= 0 || height <= 0 || width > most/height {
			return
		}
		made, err := thumbnail(
			parley.File{Name: "x", MediaType: mediaType, Width: width, Height: height},
			bytes.NewReader(raw),
		)
		if err == nil && len(made) == 0 {
			t.Errorf("%q gives an empty thumbnail", raw)
		}
	})
}

// FuzzCursor: a cursor from outside is one of Parley's or refused.
func FuzzCursor(f *testing.F) {
	f.Add(*cursor{List: "sessions", Order: Descending, ID: parley.NewID()}.text())
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"l":"sessions","n":1e99}`)))
	f.Add("%")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _, err := Paging{Cursor: text}.start("sessions", Descending)
		if err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// FuzzContent: the fast and the full parser of a plain post agree, and every role returns only CodeInvalid errors.
func FuzzContent(f *testing.F) {
	for i, seed := range []string{`{"text":"hi"}`, ` { "text" : "a" } `, `{"text":"a","links":["x"]}`,
		`{"id":"1","name":"n","arguments":{}}`, "{\"text\":\"form feed\"}\f", `{"text":"\ud800"}`} {
		f.Add(uint8(i), []byte(seed))
	}
	roles := []parley.Role{parley.RoleUser, parley.RoleAssistant, parley.RoleToolCall, parley.RoleToolResult}
	f.Fuzz(func(t *testing.T, choice uint8, raw []byte) {
		role := roles[int(choice)%len(roles)]
		content, _, err := checkContent(role, raw)
		if err != nil {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		whole, err := parley.ValidateContent(role, raw)
		if err != nil || !bytes.Equal(whole, content) {
			t.Errorf("%q is %s to the fast parser and %s to the full one, %v", raw, content, whole, err)
		}
	})
}

// FuzzMetadata: metadata and tool schemas are accepted or refused.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `null`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"type":"object","$ref":"#"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, err := range []error{
			checkDefinition(parley.ToolDefinition{Name: "a", Parameters: raw}),
			checkUntil(&parley.LoopUntil{Schema: bytes.Clone(raw)}),
			checkUntil(&parley.LoopUntil{TextMatches: string(raw)}),
			func() error { _, err := checkMetadata(raw); return err }(),
		} {
			if err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("%q: %v", raw, err)
			}
		}
	})
}
