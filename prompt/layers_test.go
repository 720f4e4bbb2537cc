package prompt_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

func mustLayers(t rapid.TB, in prompt.LayersInput) prompt.Layers {
	t.Helper()
	layers, err := prompt.NewLayers(in)
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

// through plays chunks, and the error that ends them, through a filter.
func through(filter model.AnswerFilter, chunks []model.Chunk, end error) (out []model.Chunk, ended error) {
	for chunk, err := range filter(func(yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if end != nil {
			yield(model.Chunk{}, end)
		}
	}) {
		if err != nil {
			return out, err
		}
		out = append(out, chunk)
	}
	return out, nil
}

// joined joins the texts of each block, in the order of the blocks.
func joined(chunks []model.Chunk) (blocks []model.Chunk) {
	for _, c := range chunks {
		at := slices.IndexFunc(blocks, func(b model.Chunk) bool { return b.Block == c.Block && b.Kind == c.Kind })
		if at < 0 {
			blocks = append(blocks, c)
		} else {
			blocks[at].Text += c.Text
		}
	}
	return blocks
}

// drawCuts cuts a text into chunks of a block, between runes.
func drawCuts(t *rapid.T, kind model.ChunkKind, block int, text string) (chunks []model.Chunk) {
	for text != "" {
		n := rapid.IntRange(1, 7).Draw(t, "bytes")
		piece := strings.TrimSuffix(parley.Clip(text, n), "…")
		if len(text) <= n {
			piece = text
		}
		if piece == "" {
			piece = string([]rune(text)[:1])
		}
		chunks = append(chunks, model.Chunk{Kind: kind, Block: block, Text: piece})
		text = text[len(piece):]
	}
	return chunks
}

func thinking() *bool { yes := true; return &yes }

// <think> becomes reasoning wherever the provider cuts its chunks: blocks of their own, renumbered in order, nothing
// lost.
func TestThinkTagsAreReasoning(t *testing.T) {
	layers := mustLayers(t, prompt.LayersInput{Settings: parley.MiddlewareSettings{ThinkTags: thinking()}})
	filter, err := layers.Request(t.Context(), model.Exchange{}, &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(block int, s string) model.Chunk {
		return model.Chunk{Kind: model.ChunkText, Block: block, Text: s}
	}
	reasoning := func(block int, s string) model.Chunk {
		return model.Chunk{Kind: model.ChunkReasoning, Block: block, Text: s}
	}
	for _, c := range []struct {
		told string
		want []model.Chunk
	}{
		{"plain, 1 < 2\n", []model.Chunk{text(0, "plain, 1 < 2\n")}},
		{" \n<think>\nfirst ä\n</think>\n\nThen.", []model.Chunk{reasoning(0, "first ä"), text(1, "Then.")}},
		{"One <think>two</think> three<think> four </think>",
			[]model.Chunk{text(0, "One"), reasoning(1, "two"), text(2, "three"), reasoning(3, "four")}},
		{"<think>never closed </thin", []model.Chunk{reasoning(0, "never closed </thin")}},
		{"<think></think>a</think>b", []model.Chunk{text(0, "a</think>b")}},
		{"ends in <th", []model.Chunk{text(0, "ends in <th")}},
	} {
		rapid.Check(t, func(t *rapid.T) {
			told := drawCuts(t, model.ChunkText, 0, c.told)
			told = append(
				told,
				model.Chunk{Kind: model.ChunkToolCall, Block: 1, Name: "look"},
				model.Chunk{Kind: model.ChunkArguments, Block: 1, Text: "{}"},
				text(2, "<think>again</think>"),
				model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop},
			)
			got, err := through(filter, told, nil)
			if err != nil {
				t.Fatal(err)
			}
			next := len(c.want)
			want := append(
				slices.Clone(c.want),
				model.Chunk{Kind: model.ChunkToolCall, Block: next, Name: "look"},
				model.Chunk{
					Kind:  model.ChunkArguments,
					Block: next,
					Text:  "{}",
				},
				reasoning(next+1, "again"),
				model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop},
			)
			if diff := cmp.Diff(want, joined(got)); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", c.told, diff)
			}
			broken := errors.New("broken")
			got, err = through(filter, drawCuts(t, model.ChunkText, 0, c.told), broken)
			if !errors.Is(err, broken) {
				t.Fatalf("the error became %v", err)
			}
			if diff := cmp.Diff(c.want, joined(got)); diff != "" {
				t.Fatalf("%q, broken off (-want +got):\n%s", c.told, diff)
			}
		})
	}
}

func redacting(patterns ...parley.RedactPattern) prompt.LayersInput {
	return prompt.LayersInput{Settings: parley.MiddlewareSettings{Redact: &patterns}}
}

var mail = parley.RedactPattern{Name: "email", Pattern: `[\w.]+@[\w.]+\w`}

// No provider sees a pattern's matches in any part of a request; the answer gets them back in texts and, escaped, in
// arguments, wherever chunks are cut. A value has the same placeholder in every request of a workspace and another
// elsewhere.
func TestRedactHidesAndRestores(t *testing.T) {
	secret := parley.RedactPattern{Name: "Secret", Pattern: `(?i)(pass)word="[^"]*"`}
	layers := mustLayers(t, redacting(mail, secret))
	exchange := model.Exchange{WorkspaceID: parley.NewID()}
	quoted := `PASSWORD="a\b"`
	inside, err := json.Marshal(map[string]string{"say": quoted, "ada@example.org": "to"})
	if err != nil {
		t.Fatal(err)
	}
	exact, err := json.Marshal(map[string]string{"id": "p1", "arguments": string(inside)})
	if err != nil {
		t.Fatal(err)
	}
	request := model.Request{System: "Write to ada@example.org.", Messages: []model.Message{
		{
			Role: model.RoleUser,
			Parts: []model.Part{
				{Kind: model.PartText, Text: "I am ada@example.org, " + quoted + ", not [EMAIL_0123456789]."},
			},
		},
		{Role: model.RoleAssistant, Parts: []model.Part{
			{
				Kind:         model.PartReasoning,
				Text:         "ada@example.org?",
				ProviderData: []byte(`{"thinking":"ada@example.org?","signature":"x"}`),
			},
			{
				Kind:         model.PartReasoning,
				Text:         "hm",
				ProviderData: []byte(`{"thinking":"[EMAIL_0123456789]","signature":"x"}`),
			},
			{Kind: model.PartToolCall, CallID: "c", Name: "mail", Arguments: inside, ProviderData: exact},
		}},
		{
			Role:  model.RoleTool,
			Parts: []model.Part{{Kind: model.PartToolResult, CallID: "c", Text: "sent to ada@example.org"}},
		},
	}}
	filter, err := layers.Request(t.Context(), exchange, &request)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	data := string(request.Messages[1].Parts[2].ProviderData) + string(request.Messages[1].Parts[2].Arguments)
	for _, value := range []string{"ada@", "example", "PASSWORD"} {
		if strings.Contains(string(seen)+data, value) {
			t.Errorf("%s is in the request: %s %s", value, seen, data)
		}
	}
	if !json.Valid(request.Messages[1].Parts[2].ProviderData) || !json.Valid(request.Messages[1].Parts[2].Arguments) {
		t.Errorf("no longer JSON: %s", data)
	}
	if parts := request.Messages[1].Parts; parts[0].ProviderData != nil ||
		string(parts[1].ProviderData) != `{"thinking":"[EMAIL_0123456789]","signature":"x"}` {
		t.Errorf("data signed over a hidden value was sent back, or other data was not: %s", seen)
	}
	told := request.Messages[0].Parts[0].Text
	hidden := strings.TrimSuffix(strings.TrimPrefix(told, "I am "), ".")
	address, _, _ := strings.Cut(hidden, ", ")
	if request.System != "Write to "+address+"." || !strings.HasPrefix(address, "[EMAIL_") ||
		strings.Contains(hidden, "[EMAIL_0123456789]") {
		t.Errorf("system %q, message %q", request.System, told)
	}

	rapid.Check(t, func(t *rapid.T) {
		chunks := append(
			drawCuts(t, model.ChunkText, 0, "Dear "+hidden+"! [EMAIL_ [x] [EMAIL_0000000000]"),
			drawCuts(t, model.ChunkArguments, 1, `{"to":"`+hidden+`"}`)...)
		got, err := through(filter, append(chunks, model.Chunk{Kind: model.ChunkFinish}), nil)
		if err != nil {
			t.Fatal(err)
		}
		plain := "ada@example.org, " + quoted + ", not [EMAIL_0123456789]"
		arguments, err := json.Marshal(map[string]string{"to": plain})
		if err != nil {
			t.Fatal(err)
		}
		want := []model.Chunk{{Kind: model.ChunkText, Text: "Dear " + plain + "! [EMAIL_ [x] [EMAIL_0000000000]"},
			{Kind: model.ChunkArguments, Block: 1, Text: string(arguments)}, {Kind: model.ChunkFinish}}
		if diff := cmp.Diff(want, joined(got)); diff != "" {
			t.Fatalf("restored (-want +got):\n%s", diff)
		}
	})

	for same, workspace := range map[bool]parley.ID{true: exchange.WorkspaceID, false: parley.NewID()} {
		other := model.Request{System: "ada@example.org"}
		if _, err := layers.Request(t.Context(), model.Exchange{WorkspaceID: workspace}, &other); err != nil {
			t.Fatal(err)
		}
		if (other.System == address) != same {
			t.Errorf("the placeholder %q beside %q in the same workspace: %v", other.System, address, same)
		}
	}
}

// signed is a program's middleware that signs what passes.
type signed string

func (n signed) Name() string { return string(n) }
func (n signed) Request(_ context.Context, _ model.Exchange, request *model.Request) (model.AnswerFilter, error) {
	request.System += " " + string(n)
	return func(chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			for chunk, err := range chunks {
				if chunk.Text += " " + string(n); !yield(chunk, err) {
					return
				}
			}
		}
	}, nil
}

// The order is fixed: a request passes the program's own middleware before redaction, an answer the other way round;
// the names and the recorded text are enough to repeat it.
func TestLayersHaveOneOrder(t *testing.T) {
	fields := parley.ContextFields()
	in := redacting(mail)
	in.Settings.UserContext, in.Settings.ThinkTags = &fields, thinking()
	in.Redact = []parley.RedactPattern{{Name: "name", Pattern: "b@2"}}
	in.Own = []model.Middleware{signed("a@1"), signed("b@2")}
	layers := mustLayers(t, in)
	want := []string{"user_context@1", "a@1", "b@2", "think_tags@1", "redact@3"}
	if !slices.Equal(layers.Names(), want) {
		t.Fatalf("the names are %q", layers.Names())
	}
	again, err := prompt.RebuildLayers(layers.Names(), layers.Text(), in.Own)
	if err != nil {
		t.Fatal(err)
	}
	if again.Hash() != layers.Hash() || layers.Hash().IsZero() {
		t.Error("the recorded text has another hash when read back")
	}
	exchange := model.Exchange{WorkspaceID: parley.NewID()}
	var systems []string
	for _, l := range []prompt.Layers{layers, again} {
		request := model.Request{System: "x@y.org"}
		filter, err := l.Request(t.Context(), exchange, &request)
		if err != nil {
			t.Fatal(err)
		}
		systems = append(systems, request.System)
		placeholder, _, _ := strings.Cut(request.System, " ")
		got, err := through(
			filter,
			[]model.Chunk{{Kind: model.ChunkText, Text: "<think>" + placeholder + "</think>ok"}},
			nil,
		)
		if err != nil || len(got) != 2 || got[0].Kind != model.ChunkReasoning || got[0].Text != "x@y.org b@2 a@1" {
			t.Errorf("the answer became %+v, %v", got, err)
		}
	}
	if !strings.HasPrefix(systems[0], "[EMAIL_") || !strings.Contains(systems[0], " a@1 [NAME_") ||
		systems[0] != systems[1] {
		t.Errorf("the request became %q, and again %q", systems[0], systems[1])
	}
	if _, err := prompt.RebuildLayers(want, layers.Text(), nil); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Errorf("without the program's own: %v", err)
	}
	if off := false; len(
		mustLayers(
			t,
			prompt.LayersInput{ThinkTags: true, Settings: parley.MiddlewareSettings{ThinkTags: &off}},
		).Names(),
	) != 0 {
		t.Error("a setting does not switch off what a model is known for")
	}
}
