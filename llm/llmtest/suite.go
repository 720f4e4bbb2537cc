package llmtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
)

// Options are the inputs of a Factory.
type Options struct {
	BaseURL    string // the root of a server on loopback, without a path
	APIKey     string
	FirstToken time.Duration
	Idle       time.Duration
}

// Factory makes the Model under test and closes it with the test.
type Factory func(t testing.TB, o Options) model.Model

// testKey looks like no key that a provider issues.
const testKey = "not-a-real-key-0123456789"

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected folds of the recordings")

// Request returns a small request for a model of a format's provider.
func Request(format Format) model.Request {
	name := parley.ModelID("openai/gpt-5")
	if format == Anthropic {
		name = "anthropic/claude-sonnet-4-5"
	}
	return model.Request{Model: name, Messages: []model.Message{
		{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Hello"}}},
	}}
}

// Run checks an adapter of a format: every recording cut in several ways, long lines, HTTP errors, the deadlines, and
// the rules of the port.
func Run(t *testing.T, format Format, factory Factory) {
	t.Run("recordings", func(t *testing.T) { recordings(t, format, factory) })
	t.Run("damaged recordings", func(t *testing.T) { damaged(t, format, factory) })
	t.Run("long lines", func(t *testing.T) { longLines(t, format, factory) })
	t.Run("http errors", func(t *testing.T) { httpErrors(t, format, factory) })
	t.Run("connections", func(t *testing.T) { connections(t, format, factory) })
	t.Run("stalls", func(t *testing.T) { stalls(t, format, factory) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, format, factory) })
	t.Run("contract", func(t *testing.T) {
		server := serve(t, endless(format))
		RunContract(t, factory(t, Options{BaseURL: server, APIKey: testKey}), Request(format))
	})
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// encode encodes a request that must be valid.
func encode(t *testing.T, model model.Model, request model.Request) model.EncodedRequest {
	t.Helper()
	encoded, err := model.Encode(request)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	return encoded
}

// ask folds the answer to a small request.
func ask(t *testing.T, format Format, model model.Model) Fold {
	t.Helper()
	fold, err := Collect(model.Stream(t.Context(), encode(t, model, Request(format))))
	if err != nil {
		t.Fatalf("the rules of model.Model: %v", err)
	}
	return fold
}

func recordings(t *testing.T, format Format, factory Factory) {
	for _, stream := range Streams(format) {
		t.Run(stream.Name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(len(stream.Wire))))
			cuts := map[string]Cut{
				"whole":        func() int { return len(stream.Wire) },
				"byte by byte": func() int { return 1 },
				"random":       func() int { return 1 + random.IntN(60) },
			}
			var want *Fold
			for _, border := range []string{"whole", "random", "byte by byte"} {
				model := factory(t, Options{BaseURL: serve(t, Serve(stream.Wire, cuts[border])), APIKey: testKey})
				got := ask(t, format, model)
				if want == nil {
					want = expected(t, format, stream.Name, got)
				}
				if diff := cmp.Diff(*want, got); diff != "" {
					t.Errorf("%s (-want +got)\n%s", border, diff)
				}
			}
		})
	}
}

// expected reads the fold of a recording; with -update it writes it first.
func expected(t *testing.T, format Format, name string, got Fold) *Fold {
	t.Helper()
	file := filepath.Join("testdata", string(format), name+".json")
	if *update {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("..", "llmtest", file), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return &got
	}
	return Expected(t, format, name)
}

// Expected returns the fold that a recording must give.
func Expected(t *testing.T, format Format, name string) *Fold {
	t.Helper()
	raw, err := testdata.ReadFile(strings.Join([]string{"testdata", string(format), name + ".json"}, "/"))
	if err != nil {
		t.Fatalf("the expected fold: %v", err)
	}
	var fold Fold
	if err := json.Unmarshal(raw, &fold); err != nil {
		t.Fatalf("the expected fold: %v", err)
	}
	return &fold
}
