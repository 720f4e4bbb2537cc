package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// allocated is how many bytes this process allocates while do runs. What copies a text
// again for each piece of it shows here, whatever else the machine does. Tests that
// measure so do not run beside others.
func allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// A fence is found in one pass over what it surrounds.
func TestExportOfManyBackticks(t *testing.T) {
	s := startServer(t)
	at := "/v1/sessions/" + s.session(`{}`).ID.String()
	backticks := strings.Repeat("`", 50_000)
	if got := s.do(
		"POST",
		at+"/messages",
		`{"role":"tool_call","content":{"id":"a","name":"n","arguments":{"a":"`+backticks+`"}}}`,
	); got.status != 201 {
		t.Fatalf("status %d %s", got.status, got.body)
	}
	var text string
	took := allocated(func() { text = string(s.do("GET", at+"/export?format=markdown", "").body) })
	if fence := "\n" + backticks + "`\n"; strings.Count(text, fence) != 2 {
		t.Error("no fence is longer than the text")
	}
	if most := 100 * len(backticks); took > most {
		t.Errorf("the export allocated %d bytes, more than %d", took, most)
	}
}

// Exports of one principal have room for so many at once; those that ended give it back,
// and nobody else waits.
func TestExportsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4
	s := startServer(t)
	member, other := s.key("default", "member", parley.RoleMember), s.key("default", "other", parley.RoleMember)
	at := "/v1/sessions/" + s.session(`{"visibility":"workspace"}`, "Authorization", member).ID.String()
	for range 2 * most {
		if got := s.do("GET", at+"/export", "", "Authorization", member); got.status != 200 {
			t.Fatalf("one after the other: status %d %s", got.status, got.body)
		}
	}
	large := fmt.Sprintf(`{"respond":false,"content":{"text":%q}}`, strings.Repeat("x", parley.MaxBodyBytes/2))
	for range 2 * parley.MaxPageBytes / (parley.MaxBodyBytes / 2) { // more than sockets hold
		if got := s.do("POST", at+"/messages", large, "Authorization", member); got.status != 201 {
			t.Fatalf("status %d %s", got.status, got.body)
		}
	}
	for range most { // nobody reads them
		answer := s.request("GET", at+"/export", "", "Authorization", member)
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("status %d", answer.StatusCode)
		}
	}
	if got := s.do("GET", at+"/export", "", "Authorization", member); got.status != 429 {
		t.Errorf("one more: status %d", got.status)
	}
	if got := s.do("GET", at+"/export", "", "Authorization", other); got.status != 200 {
		t.Errorf("somebody else's: status %d %s", got.status, got.body)
	}
}

// What an answer costs grows with its length, not with its length times its pieces:
// of a refusal, of white space that may stand before a tag, of text in a replay and in
// the chat view.
func TestAnswersInSmallPieces(t *testing.T) {
	const pieces, most = 40_000, 100 << 20 // copying all of it for each piece takes 12 GB
	s := startServer(t)
	for name, c := range map[string]struct{ session, action, content string }{
		"refusal": {`{"model":"sim/script"}`, `{"refusal":"xxxxxxxxxxxxxxxx","repeat":%d}`, `"refusal":"xxxx`},
		"white space": {`{"model":"sim/script","middleware":{"think_tags":true}}`,
			`{"text":"                ","repeat":%d},{"text":"end"}`, `end"`},
		"reasoning": {`{"model":"sim/script"}`,
			`{"reasoning":"xxxxxxxxxxxxxxxx","repeat":%d},{"text":"end"}`, `end"`},
	} {
		session := s.session(c.session).ID.String()
		at := "/v1/sessions/" + session
		script, err := json.Marshal("[[" + fmt.Sprintf(c.action, pieces) + "]]")
		if err != nil {
			t.Fatal(err)
		}
		took := allocated(func() {
			want[json.RawMessage](s, 201, "POST", at+"/messages", `{"content":{"text":`+string(script)+`}}`)
			s.awaitEnd(session)
		})
		record := want[page[parley.Message]](s, 200, "GET", at+"/messages", "").Data
		if last := string(record[len(record)-1].Content); !strings.Contains(last, c.content) || len(last) < 16*pieces {
			t.Errorf("%s: the answer has %d bytes", name, len(last))
		}
		if took > most {
			t.Errorf("%s: the answer allocated %d MB", name, took>>20)
		}
		call := "/v1/calls/" + s.lastCall(session).ID.String()
		if took := allocated(func() { s.do("POST", call+"/replay", `{}`) }); took > most {
			t.Errorf("%s: the replay allocated %d MB", name, took>>20)
		} else {
			t.Logf("%s replay %d", name, took>>20)
		}
		t.Logf("%s %d", name, took>>20)
	}
}

// The chat view joins the rows of an answer once.
func TestChatOfAnAnswerInManyRows(t *testing.T) {
	const rows, most = 200, 100 << 20 // joining row by row takes 300 MB more
	s := startServer(t)
	session := s.session(`{"model":"sim/script"}`).ID.String()
	actions := strings.Repeat(`{"reasoning":"xxxxxxxxxxxxxxxx","repeat":1000},{"text":"a"},`, rows)
	script, err := json.Marshal("[[" + strings.TrimSuffix(actions, ",") + "]]")
	if err != nil {
		t.Fatal(err)
	}
	want[json.RawMessage](
		s,
		201,
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"content":{"text":`+string(script)+`}}`,
	)
	s.awaitEnd(session)
	var chat []engine.ChatMessage
	took := allocated(func() {
		chat = want[page[engine.ChatMessage]](s, 200, "GET", "/v1/sessions/"+session+"/messages?view=chat", "").Data
	})
	if len(chat) != 2 || len(chat[1].Reasoning) != 16_000*rows || chat[1].Content != strings.Repeat("a", rows) {
		t.Fatalf("%d rows of chat", len(chat))
	}
	if took > most {
		t.Errorf("the page allocated %d MB", took>>20)
	}
}

// A prompt that its placeholders make too long fails its turn, and says why, before it
// is made; so does a look at it.
func TestAPromptThatGrows(t *testing.T) {
	const most = 64 << 20 // filled in it would have 70 MB, in several copies
	s := startServer(t)
	prompt := strings.Repeat("{{session.key}}", parley.MaxTextBytes/len("{{session.key}}"))
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"grows","model":"sim/echo","system_prompt":"`+prompt+`"}`)
	fits := s.session(`{"agent_id":"grows","key":"short"}`).ID.String()
	s.told(fits, `{"content":{"text":"Hello"}}`)
	if turn := s.lastTurn(fits); turn.Status != parley.TurnCompleted {
		t.Errorf("a prompt that fits: %s %+v", turn.Status, turn.Error)
	}
	session := s.session(`{"agent_id":"grows","key":"` + strings.Repeat("k", 2048) + `"}`).ID.String()
	at := "/v1/sessions/" + session
	took := allocated(func() {
		s.told(session, `{"content":{"text":"Hello"}}`)
		if got := s.do(
			"GET",
			at+"/context",
			"",
		); got.status == 500 ||
			!strings.Contains(string(got.body), "placeholders are filled in") {
			t.Errorf("a look: status %d %s", got.status, got.body)
		}
	})
	if took > most {
		t.Errorf("it allocated %d MB", took>>20)
	}
	if turn := s.lastTurn(
		session,
	); turn.Status != parley.TurnFailed ||
		!strings.Contains(turn.Error.Detail, "placeholders are filled in") {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
	}
}

func (s *testServer) lastTurn(session string) parley.Turn {
	s.Helper()
	turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data
	return turns[len(turns)-1]
}

// A list of large rows ends early and its cursor goes on, so that what one request
// takes has a bound.
func TestListsOfLargeRows(t *testing.T) {
	t.Parallel()
	const rows = 12
	s := startServer(t)
	long := strings.Repeat("x", parley.MaxTextBytes-parley.MaxKeyBytes)
	for n := range rows {
		want[parley.Agent](
			s,
			201,
			"POST",
			"/v1/agents",
			fmt.Sprintf(`{"name":"a%d","description":%q,"system_prompt":%q}`, n, long, long),
		)
		want[parley.Session](
			s,
			201,
			"POST",
			"/v1/sessions",
			fmt.Sprintf(`{"instructions":%q,"system_prompt":%q}`, long, long),
		)
	}
	for _, list := range []string{"/v1/agents", "/v1/sessions"} {
		seen, pages, cursor := map[string]bool{}, 0, ""
		for {
			var got page[struct {
				ID string `json:"id"`
			}]
			answer := s.do("GET", list+"?limit=1000"+cursor, "")
			if err := json.Unmarshal(answer.body, &got); err != nil {
				t.Fatal(err)
			}
			if most := parley.MaxPageBytes + 2*parley.MaxTextBytes; len(answer.body) > most {
				t.Errorf("a page of %s has %d bytes", list, len(answer.body))
			}
			pages++
			for _, row := range got.Data {
				seen[row.ID] = true
			}
			if got.Next == nil {
				break
			}
			cursor = "&cursor=" + *got.Next
		}
		if pages != 2 || len(seen) < rows {
			t.Errorf("%s: %d rows on %d pages", list, len(seen), pages)
		}
	}
}
