package setting_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/setting"
)

// What the release before the descriptions wrote is read and written unchanged: rows of sessions and messages, and the
// settings of a session in answers, byte for byte; agents with their keys in another order.
func TestThePreviousReleasesJSON(t *testing.T) {
	t.Parallel()
	previous := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", "previous", name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.TrimSpace(text)
	}
	read := func(text []byte, into any) {
		t.Helper()
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	written := func(of any) []byte {
		t.Helper()
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, name := range []string{"row.json", "bare_row.json"} {
		var s parley.Settings
		read(previous(name), &s)
		if diff := cmp.Diff(
			string(previous(name)),
			withoutSince(written(setting.Stored(s)), previous(name)),
		); diff != "" {
			t.Errorf("%s (-was +is):\n%s", name, diff)
		}
	}
	var session parley.Session
	read(previous("session.json"), &session)
	shown := append(setting.AppendJSON(nil, &session.Settings), '}')
	shown[0] = '{' // replaces the comma after a session's earlier fields
	if diff := cmp.Diff(string(previous("session.json")), withoutSince(shown, previous("session.json"))); diff != "" {
		t.Errorf("a session's settings (-was +is):\n%s", diff)
	}
	for _, name := range []string{"agent.json", "bare_agent.json"} {
		var agent parley.Agent
		var was, is map[string]any
		read(previous(name), &agent)
		setting.Complete(&agent.Settings)
		read([]byte(withoutSince(written(agent), previous(name))), &is)
		read(previous(name), &was)
		if name == "bare_agent.json" {
			was["tools"] = []any{} // null only if the agent had never been stored
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%s (-was +is):\n%s", name, diff)
		}
	}
}

// withoutSince returns JSON without the settings that the recorded JSON does not have, none of which is set.
func withoutSince(text, recorded []byte) string {
	said := string(text)
	for _, one := range setting.All(setting.Agent | setting.Session) {
		if name := `"` + one.Describe().Name + `":`; !bytes.Contains(recorded, []byte(name)) {
			said = strings.Replace(said, `,`+name+`null`, "", 1)
		}
	}
	// So are members of a setting, and of an agent: of limits, the policy, and how summaries are written.
	for _, since := range []string{`,"chain_tokens":null,"chain_cost":null`, `,"brief_to_id":null`} {
		said = strings.Replace(said, since, "", 1)
	}
	said = strings.Replace(said, `,"recall":null}`, "}", 1)
	return strings.Replace(said, `"Keep the prices.","max_cost":null}`, `"Keep the prices."}`, 1)
}
