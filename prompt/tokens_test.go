package prompt_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/prompt"
)

const gpt parley.ModelID = "openai/gpt-4o-mini"

// samples returns texts of the kinds found in conversations.
func samples(t testing.TB) map[string]string {
	t.Helper()
	read := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	return map[string]string{
		"prose": "Parley is a durable home for agent conversations. When the process dies in the middle of an " +
			"answer, the text that was streamed so far is kept, and the next process goes on from there. The " +
			"weather, though unpredictable this season, remained pleasant throughout the afternoon.",
		"German": "Gestern bin ich mit dem Fahrrad über die Brücke gefahren, obwohl es schon dunkel war und die " +
			"Straßen nass glänzten. Das Rathaus wird nächste Woche renoviert, deshalb müssen alle Büros " +
			"vorübergehend umziehen.",
		"code": read("window.go"),
		"page": read("../ARCHITECTURE.md"),
		"JSON": read("../llm/models.json"),
		"Chinese": "昨天我们去了市中心的图书馆，借了几本关于历史和科学的书。图书管理员非常友好，帮助我们找到了所有需要的资料。" +
			"下午我们在公园里散步，天气很好，很多孩子在玩耍。",
		"Russian": "Вчера мы ходили в городскую библиотеку и взяли несколько книг по истории и науке. Погода была " +
			"прекрасная.",
	}
}

func o200k(t testing.TB) tokenizer.Codec {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func truth(t testing.TB, codec tokenizer.Codec, text string) int {
	t.Helper()
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func off(got, want int) float64 { return math.Abs(float64(got-want)) / float64(max(1, want)) }

// For models like GPT-4o an estimate is within 3 % of the tokenizer's count, even for long texts, which are not counted
// whole.
func TestEstimatesOfGPT4o(t *testing.T) {
	t.Parallel()
	codec := o200k(t)
	for name, text := range samples(t) {
		for _, text := range []string{text, strings.Repeat(text+"\n", 1+100_000/len(text))} {
			got, want := prompt.Estimate(gpt, text), truth(t, codec, text)
			if off(got, want) > 0.03 {
				t.Errorf("%s of %d bytes: %d tokens, the tokenizer counts %d", name, len(text), got, want)
			}
		}
	}
}

// Without tables the estimate is close enough for windows: within a sixth.
func TestEstimatesWithoutTables(t *testing.T) {
	t.Parallel()
	codec := o200k(t)
	for name, text := range samples(t) {
		got, want := prompt.Estimate("anthropic/claude-opus-5", text), truth(t, codec, text)
		if off(got, want) > 0.16 {
			t.Errorf("%s: %d tokens, the tokenizer counts %d", name, got, want)
		}
	}
}

// After three calls an estimate is within 10 % of the report of a provider with another tokenizer, here cl100k plus a
// share for its own borders.
func TestRatiosLearnAnotherTokenizer(t *testing.T) {
	t.Parallel()
	other, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	const model parley.ModelID = "anthropic/claude-opus-5"
	all := samples(t)
	ratios, workspace := &prompt.Ratios{}, parley.NewID()
	for _, rounds := range [][]string{{"code", "page", "code", "page"}, {"prose", "German", "page", "prose"}} {
		for i, name := range rounds {
			estimated := prompt.Estimate(model, all[name])
			reported := int(float64(truth(t, other, all[name]))*1.3) + 12
			if got := int(float64(estimated) * ratios.Of(workspace, model)); i >= 3 && off(got, reported) > 0.10 {
				t.Errorf("%s after %d calls: %d tokens, the provider reports %d", name, i, got, reported)
			}
			ratios.Observe(workspace, model, int64(estimated), int64(reported))
		}
		ratios = &prompt.Ratios{}
	}
}

func TestRatiosAreBounded(t *testing.T) {
	t.Parallel()
	ratios, workspace := &prompt.Ratios{}, parley.NewID()
	if got := ratios.Of(workspace, "a/b"); got != 1 {
		t.Errorf("an unknown model's ratio is %v", got)
	}
	ratios.Observe(workspace, "a/b", 10, 1_000_000)
	ratios.Observe(workspace, "a/c", 1_000_000, 1)
	ratios.Observe(workspace, "a/d", 0, 5)
	for model, want := range map[parley.ModelID]float64{"a/b": 4, "a/c": 0.25, "a/d": 1} {
		if got := ratios.Of(workspace, model); got != want {
			t.Errorf("%s has ratio %v, want %v", model, got, want)
		}
	}
}

// What a provider adds to every request weighs most in short ones: a long request that it reads in whole counts by a
// smaller ratio, and is not truncated. Half of it read is.
func TestOverheadIsNoTruncation(t *testing.T) {
	t.Parallel()
	const model, added = parley.ModelID("a/b"), 1000
	ratios, workspace := &prompt.Ratios{}, parley.NewID()
	for range 4 {
		ratios.Observe(workspace, model, 20, 20+added)
	}
	if _, truncated := ratios.Truncated(workspace, model, 10_000, 10_000+added); truncated {
		t.Error("a request that was read in whole counts as truncated")
	}
	if _, truncated := ratios.Truncated(workspace, model, 10_000, 5000); !truncated {
		t.Error("half of a request was read, and it does not count as truncated")
	}
}

func TestEstimateContentCountsTheModelsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		role    parley.Role
		content string
		text    string
	}{
		"user": {parley.RoleUser, `{"text":"What is \"love\"?","links":["https://example.org/a"]}`,
			`What is "love"?` + "https://example.org/a"},
		"assistant": {parley.RoleAssistant, `{"reasoning":"hm","text":"A word."}`, "hmA word."},
		"call":      {parley.RoleToolCall, `{"id":"c","name":"search","arguments":{"q":"love"}}`, `search{"q":"love"}`},
		"result": {parley.RoleToolResult,
			`{"result":"many things","success":true,"error":null,"execution_time_ms":3}`, "many things"},
		"summary": {parley.RoleSummary, `{"text":"They talked."}`, "They talked."},
	} {
		want := truth(t, o200k(t), c.text)
		if got := prompt.EstimateContent(gpt, c.role, []byte(c.content)); got < want || got > want+2 {
			t.Errorf("%s: %d tokens, the text alone has %d", name, got, want)
		}
		if got := prompt.EstimateContent("sim/echo", c.role, []byte(c.content)); got < 1 {
			t.Errorf("%s: %d tokens without tables", name, got)
		}
	}
}

func TestEstimateFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file        parley.File
		least, most int
	}{
		"a photo": {parley.File{MediaType: "image/png", Width: 1000, Height: 750, Size: 9}, 1000, 1000},
		"an icon": {parley.File{MediaType: "image/png", Width: 16, Height: 16, Size: 9}, 85, 85},
		"a huge":  {parley.File{MediaType: "image/png", Width: 9000, Height: 9000, Size: 9}, 1600, 1600},
		"a text":  {parley.File{MediaType: "text/plain", Size: 4000}, 1000, 1030},
		"a zip":   {parley.File{MediaType: "application/zip", Size: 4000}, 1, 30},
	} {
		if got := prompt.EstimateFile(c.file); got < c.least || got > c.most {
			t.Errorf("%s: %d tokens, want %d to %d", name, got, c.least, c.most)
		}
	}
}

// Every text has an estimate: no panic, never negative, zero for no text, and more text never has less.
func TestEstimateTokensGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if got := parley.EstimateTokens(a + "\n" + b); got+2 < parley.EstimateTokens(a) || got < 1 {
			t.Fatalf("%q has %d tokens and with more %d", a, parley.EstimateTokens(a), got)
		}
		if parley.EstimateTokens([]byte(a)) != parley.EstimateTokens(a) {
			t.Fatal("bytes and text differ")
		}
	})
	if got := parley.EstimateTokens(""); got != 0 {
		t.Errorf("nothing has %d tokens", got)
	}
}

func BenchmarkEstimate(b *testing.B) {
	text := strings.Repeat(
		"The quick brown fox jumps over the lazy dog, and then it wrote some code. ",
		12,
	) // 200 tokens
	for _, model := range []parley.ModelID{"sim/echo", gpt} {
		b.Run(string(model), func(b *testing.B) {
			for b.Loop() {
				prompt.Estimate(model, text)
			}
		})
	}
}

// What one workspace sends does not change how another one's windows are measured.
func TestRatiosAreTheWorkspacesOwn(t *testing.T) {
	t.Parallel()
	var ratios prompt.Ratios
	one, other := parley.NewID(), parley.NewID()
	for range 8 {
		ratios.Observe(one, "a/b", 100_000, 400_000)
	}
	if got := ratios.Of(other, "a/b"); got != 1 || ratios.Of(one, "a/b") != 4 {
		t.Errorf("the ratio of the other workspace is %v", got)
	}
	if _, truncated := ratios.Truncated(other, "a/b", 200_000, 50_000); truncated {
		t.Error("a request of the other workspace looks truncated")
	}
}
