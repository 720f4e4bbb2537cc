package record_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/llm/openai"
	"example.org/parley/llm/record"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(modelID parley.ModelID, text string) model.Request {
	return model.Request{
		Model:    modelID,
		Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: text}}}},
	}
}

// said streams a request and collects the answer.
func said(
	t *testing.T,
	ctx context.Context,
	model model.Model,
	request model.Request,
) (chunks []model.Chunk, failed error) {
	t.Helper()
	encoded, err := model.Encode(request)
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range model.Stream(ctx, encoded) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func pair(t *testing.T, options record.Options) (*record.Recorder, *record.Player, string) {
	t.Helper()
	dir := t.TempDir()
	recorder, err := record.New(sim.New(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	player, err := record.Open(unreachable{sim.New()}, dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return recorder, player, dir
}

// unreachable encodes requests but must not be asked.
type unreachable struct{ model.Model }

func (unreachable) Stream(context.Context, model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	panic("a request was sent")
}

// A recording plays back exactly: text, reasoning, calls, usage, failures.
func TestPlaysRecordings(t *testing.T) {
	t.Parallel()
	recorder, player, _ := pair(t, record.Options{})
	for _, request := range []model.Request{
		ask("sim/echo", "Grüße 😀"), ask("sim/reason", "think"), ask("sim/lorem-30-0", "x"),
		{Model: "sim/tool", Tools: []parley.ToolDefinition{{Name: "current_time"}},
			Messages: ask("sim/tool", "When?").Messages},
		ask("sim/fail-rate_limit-1", "x"),
	} {
		recorded, failed := said(t, t.Context(), recorder, request)
		played, again := said(t, t.Context(), player, request)
		if diff := cmp.Diff(recorded, played); diff != "" || len(recorded) == 0 && failed == nil {
			t.Errorf("%s (-recorded +played):\n%s", request.Model, diff)
		}
		if (failed == nil) != (again == nil) || failed != nil && failed.Error() != again.Error() {
			t.Errorf("%s failed with %v, and with %v when played", request.Model, failed, again)
		}
	}
}

// The same request twice gets the first answer, then the second, which stays.
func TestRepeatedRequestsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	recorder, player, _ := pair(t, record.Options{})
	request := ask("sim/fail-network-1", "again")
	outcomes := func(adapter model.Model) (out []bool) {
		for n := 1; n <= 2; n++ {
			_, err := said(t, model.WithAttempt(t.Context(), n), adapter, request)
			out = append(out, err == nil)
		}
		return out
	}
	want := outcomes(recorder)
	if diff := cmp.Diff([]bool{false, true}, want); diff != "" {
		t.Fatalf("the model fails otherwise: %s", diff)
	}
	if diff := cmp.Diff(want, outcomes(player)); diff != "" {
		t.Errorf("played in another order: %s", diff)
	}
	if _, err := said(t, t.Context(), player, request); err != nil {
		t.Errorf("the last answer is not repeated: %v", err)
	}
}

// Parley's ids differ from run to run, and the recording is found all the same; so it is with text that Ignore matches.
func TestKeysIgnoreIDsAndTimes(t *testing.T) {
	t.Parallel()
	recorder, player, _ := pair(t, record.Options{Ignore: []*regexp.Regexp{regexp.MustCompile(`It is \d\d:\d\d`)}})
	text := func(id parley.ID, time string) string {
		return "Session " + id.String() + ", " + id.String() + ". It is " + time
	}
	one, other := parley.NewID(), parley.NewID()
	if _, err := said(t, t.Context(), recorder, ask("sim/echo", text(one, "12:00"))); err != nil {
		t.Fatal(err)
	}
	if _, err := said(t, t.Context(), player, ask("sim/echo", text(other, "13:59"))); err != nil {
		t.Errorf("another id and time: %v", err)
	}
	if _, err := said(
		t,
		t.Context(),
		player,
		ask("sim/echo", "Session "+one.String()+", "+other.String()+". It is 12:00"),
	); err == nil {
		t.Error("two ids count as the same")
	}
}

// An error for a request that was never recorded names the missing file and the nearest one.
func TestUnknownRequestsNameTheNearest(t *testing.T) {
	t.Parallel()
	recorder, player, dir := pair(t, record.Options{})
	if _, err := said(
		t,
		t.Context(),
		player,
		ask("sim/echo", "x"),
	); err == nil ||
		!strings.Contains(err.Error(), "there is none of the provider sim") {
		t.Errorf("an empty directory: %v", err)
	}
	for _, text := range []string{"The weather in Oslo", "The weather in Rome today", "Something else"} {
		if _, err := said(t, t.Context(), recorder, ask("sim/echo", text)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := said(t, t.Context(), player, ask("sim/echo", "The weather in Rom"))
	for _, part := range []string{"echo-", "is missing in " + dir, "the nearest is sim", "in Rome today", "--record"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	if _, err := record.Open(
		sim.New(),
		filepath.Join(dir, "nowhere"),
		record.Options{},
	); parley.ErrorCode(
		err,
	) != parley.CodeNotFound {
		t.Errorf("a missing directory: %v", err)
	}
}

// No recording contains a secret, wherever it came from; an interrupted answer leaves no file.
func TestRecordingsHoldNoSecretsAndNoHalves(t *testing.T) {
	t.Parallel()
	const secret = "sk-very\"secret"
	recorder, _, dir := pair(t, record.Options{Secrets: []string{secret, ""}})
	if _, err := said(t, t.Context(), recorder, ask("sim/echo", "my key is "+secret)); err != nil {
		t.Fatal(err)
	}
	encoded, err := recorder.Encode(ask("sim/lorem-50-0", "half"))
	if err != nil {
		t.Fatal(err)
	}
	for range recorder.Stream(t.Context(), encoded) {
		break
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "very") || !strings.Contains(string(text), "[redacted]") {
		t.Errorf("the recording: %s", text)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read %s: %v", info.Mode(), err)
	}
}

// A provider's routing fields do not count towards the key.
func TestRoutingFieldsDoNotCount(t *testing.T) {
	t.Parallel()
	wire, err := openai.New(openai.Options{APIKey: "unused"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	recorder, err := record.New(canned{wire}, dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	player, err := record.Open(unreachable{wire}, dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, other := ask("openai/gpt-5", "x"), ask("openai/gpt-5", "x")
	one.CacheKey, other.CacheKey = "one", "other"
	if _, err := said(t, t.Context(), recorder, one); err != nil {
		t.Fatal(err)
	}
	if _, err := said(t, t.Context(), player, other); err != nil {
		t.Error(err)
	}
}

// canned gives every request the same answer.
type canned struct{ model.Model }

func (canned) Stream(context.Context, model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "yes"}, nil) &&
			yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
	}
}
