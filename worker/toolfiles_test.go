package worker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/tool"
)

// answering is a set of tools whose first one answers with a given result.
type answering struct {
	fakeTools
	result tool.Result
}

func (a answering) For(parley.ID) tool.Source { return a }

func (a answering) Tool(name string) (tool.Tool, bool) {
	one, ok := a.fakeTools.Tool(name)
	return answeringTool{one, a.result}, ok
}

type answeringTool struct {
	tool.Tool
	result tool.Result
}

func (a answeringTool) Call(context.Context, tool.Call) (tool.Result, error) { return a.result, nil }

// picture returns a PNG of about 600 kB.
func picture(t *testing.T) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a picture
	noise := image.NewNRGBA(image.Rect(0, 0, 450, 450))
	for x := range 450 {
		for y := range 450 {
			v := random.Uint32()
			noise.Set(
				x,
				y,
				color.NRGBA{R: uint8(v), G: uint8(v >> 8), B: uint8(v >> 16), A: 255},
			) //nolint:gosec // noise
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, noise); err != nil {
		t.Fatal(err)
	}
	if out.Len() < 500_000 {
		t.Fatalf("the picture has %d bytes", out.Len())
	}
	return out.Bytes()
}

// TestPicturesOfToolsAreFiles: bytes in a tool's answer, as pieces or as base64 within its JSON, are stored as files,
// each once; a model that sees is shown the image, another reads its name, and neither reads base64.
func TestPicturesOfToolsAreFiles(t *testing.T) {
	shot := picture(t)
	inText := base64.StdEncoding.EncodeToString(shot)
	part := func(of parley.Part) tool.Piece { return tool.Piece{Part: of} }
	text := func(text string) tool.Piece { return part(parley.Part{Type: parley.PartText, Text: text}) }
	object := func(object string) parley.Part {
		return parley.Part{Type: parley.PartObject, Object: json.RawMessage(object)}
	}
	named := func(name string) parley.Part {
		return parley.Part{
			Type: parley.PartImage, Name: name, MediaType: "image/png", SHA256: parley.HashOf(shot),
		}
	}
	for name, c := range map[string]struct {
		result tool.Result
		want   []parley.Part
		reads  string // what the model reads of the result
	}{
		"pieces": {
			tool.Result{Pieces: []tool.Piece{
				text("Before."), {Part: parley.Part{Type: parley.PartFile, Name: "a.png"}, Data: shot}, text("After."),
			}},
			[]parley.Part{{Type: parley.PartText, Text: "Before."}, named("a.png"),
				{Type: parley.PartText, Text: "After."}},
			"Before.\n[image a.png]\nAfter.",
		},
		"a name with what cannot be seen": {
			tool.Result{Pieces: []tool.Piece{
				{Part: parley.Part{Type: parley.PartFile, Name: "../..\\b\x1b[2J\x00\xff.png"}, Data: shot},
			}},
			[]parley.Part{named("b[2J\uFFFD.png")},
			"[image b[2J\uFFFD.png]",
		},
		"pieces and the same in what is structured": {
			tool.Result{Pieces: []tool.Piece{
				{Part: parley.Part{Type: parley.PartFile, Name: "a.png"}, Data: shot},
				part(object(`{"data":"` + inText + `","n":12345678901234567890}`)),
			}},
			[]parley.Part{named("a.png"), object(`{"data":"[image a.png]","n":12345678901234567890}`)},
			"[image a.png]\n" + `{"data":"[image a.png]","n":12345678901234567890}`,
		},
		"JSON": {
			tool.Result{JSON: json.RawMessage(`{"images":[{"b64_json":"` + inText + `"}],"of":"x"}`)},
			[]parley.Part{object(`{"images":[{"b64_json":"[image shoot-1.png]"}],"of":"x"}`), named("shoot-1.png")},
			`{"images":[{"b64_json":"[image shoot-1.png]"}],"of":"x"}` + "\n[image shoot-1.png]",
		},
		"a data URL": {
			tool.Result{JSON: json.RawMessage(`"![shot](data:image/png;base64,` + inText + `) is it."`)},
			[]parley.Part{{Type: parley.PartText, Text: "![shot]([image shoot-1.png]) is it."}, named("shoot-1.png")},
			"![shot]([image shoot-1.png]) is it.\n[image shoot-1.png]",
		},
	} {
		for _, sees := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t)
				r.model.vision = sees
				r.tools = answering{fakeTools{{"shoot", readOnly(), nil}}, c.result}
				r.start(nil)
				r.model.play(calls(parley.FinishToolCalls, "shoot", `{}`), says("Done."))
				sessionID := r.session(tooled("shoot"), nil)
				r.ended(r.post(sessionID, "Go", "").Turn.ID)
				r.checkShot(sessionID, shot, c.want, c.reads, sees)
			})
		}
	}
}

// checkShot compares the only result of a session, its file, and what the model got of it.
func (r *rig) checkShot(sessionID parley.ID, shot []byte, want []parley.Part, reads string, sees bool) {
	r.Helper()
	var m parley.Message
	for _, row := range r.messages(sessionID) {
		if row.Role == parley.RoleToolResult {
			m = row
		}
	}
	parts := parley.PartsOf(m.Content)
	var fileID parley.ID
	for i := range parts {
		if parts[i].HoldsFile() {
			fileID, parts[i].FileID = parts[i].FileID, parley.ID{}
		}
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		r.Errorf("the record's parts (-want +got):\n%s", diff)
	}
	if strings.Contains(string(m.Content), `"result"`) || m.TokenEstimate > 2000 {
		r.Errorf("the record has %d tokens: %s", m.TokenEstimate, parley.Clip(string(m.Content), 500))
	}
	file, err := r.store.File(r.Context(), r.scope, fileID)
	r.must(err)
	if file.OwnerID != r.owner.ID || file.Size != int64(len(shot)) {
		r.Errorf("the file is %+v", file)
	}
	if err := r.store.DeleteFile(r.Context(), r.scope, fileID); parley.ErrorCode(err) != parley.CodeConflict {
		r.Errorf("a file used by a result was deleted: %v", err)
	}
	requests := r.model.asked()
	last := requests[len(requests)-1].Messages
	got := last[len(last)-1].Parts
	if !sees {
		stub := "[The image " + file.Name + " (450x450) is not shown: this model reads no images.]"
		lines := strings.Split(reads, "\n")
		for i := range lines {
			if lines[i] == "[image "+file.Name+"]" {
				lines[i] = stub
			}
		}
		if len(got) != 1 || got[0].Text != strings.Join(lines, "\n") {
			r.Errorf("a model without vision reads %+v", got)
		}
		return
	}
	if len(got) != 2 || got[0].Kind != model.PartToolResult || got[0].Text != reads ||
		got[1].Kind != model.PartImage || !bytes.Equal(got[1].Data, shot) || got[1].CallID != got[0].CallID {
		r.Errorf("a model with vision gets %d parts, the first %q", len(got), got[0].Text)
	}
}
