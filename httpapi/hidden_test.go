package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// TestNothingHiddenIsReadInPieces: what redact hides from a provider cannot be read by a model in halves, nor guessed
// letter by letter, with the tools that read the conversation again.
func TestNothingHiddenIsReadInPieces(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const card = "4929717717732941"
	session := s.session(`{"model":"sim/script","tools":["read_result","read_conversation","search_conversation"],` +
		`"middleware":{"redact":[{"name":"card","pattern":"[0-9]{16}"}]}}`).ID.String()
	text := "My card is " + card + ", keep it. " + strings.Repeat("x", 2010) + card + " and then more words."
	calls := []string{
		`"read_result","arguments":{"id":1,"unit":"characters","from":1,"to":20}`,
		`"read_result","arguments":{"id":1,"unit":"characters","from":18,"to":60}`,
		`"read_result","arguments":{"id":1,"search":"492971"}`,
		`"read_result","arguments":{"id":1,"search":"words"}`,
		`"read_conversation","arguments":{"from":1,"to":1}`,
		`"search_conversation","arguments":{"query":"keep"}`,
		`"search_conversation","arguments":{"query":"4929"}`,
	}
	var steps []string
	for _, call := range calls {
		steps = append(steps, `[{"tool_call":{"name":`+call+`}}]`)
	}
	body, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	s.told(session, `{"content":{"text":`+string(body)+`}}`)
	s.told(session, fmt.Sprintf(`{"content":{"text":%q}}`, "["+strings.Join(steps, ",")+`,[{"text":"Read."}]]`))
	request := string(s.lastCall(session).Request)
	results := request[strings.Index(request, `"tool_call`):]
	for at := range len(card) - 6 {
		if piece := card[at : at+7]; strings.Contains(results, piece) {
			t.Errorf("the provider was sent %q", piece)
		}
	}
	if got := strings.Count(results, `\"found\":[]`); got != 1 || !strings.Contains(results, `[CARD_`) {
		t.Errorf("%d searches found nothing, and the provider was sent %s", got, results)
	}
}

// TestWhatIsHiddenStaysHiddenInJSON: tools that quote the record in JSON write its lines' ends as escapes, and patterns
// that look at the beginning of a word or a line find a value all the same.
func TestWhatIsHiddenStaysHiddenInJSON(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const card = "4929717717732941"
	session := s.session(`{"model":"sim/script","tools":["read_result","read_conversation","search_conversation"],` +
		`"middleware":{"redact":[{"name":"card","pattern":"\\b[0-9]{16}\\b"}]}}`).ID.String()
	s.told(session, `{"content":{"text":"[[{\"text\":\"Paid by\\n`+card+`\\nToday.\"}]]"}}`)
	calls := `[[{"tool_call":{"name":"read_conversation","arguments":{"from":1}}}],` +
		`[{"tool_call":{"name":"read_result","arguments":{"id":2,"search":"paid"}}}],` +
		`[{"tool_call":{"name":"search_conversation","arguments":{"query":"today"}}}],[{"text":"Read."}]]`
	s.told(session, fmt.Sprintf(`{"content":{"text":%q}}`, calls))
	call := s.lastCall(session)
	if request := string(call.Request); strings.Contains(request, card) || strings.Count(request, "[CARD_") < 4 ||
		!call.Exact {
		t.Errorf("the provider was sent %s, exact %t", request, call.Exact)
	}
}

// TestCutsKeepOutOfHiddenValues: a value that redact hides stands across each cut of a text that is shown in part: in
// an excerpt, in a transcript to be summed up, and in the index of a summary that is asked for behind the conversation.
func TestCutsKeepOutOfHiddenValues(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	value := "key_" + strings.Repeat("q7", 100)
	const redact = `"model":"sim/lorem-3-0","context_policy":{"kind":"summary"},` +
		`"middleware":{"redact":[{"name":"key","pattern":"\\bkey_[q7]{200}\\b"}]}`
	sent := func(session, says string) {
		t.Helper()
		call := s.lastCall(session)
		request := string(call.Request)
		if strings.Contains(request, "q7") || !strings.Contains(request, "[KEY_") || !call.Exact {
			t.Errorf("the provider was sent %.2000s, exact %t", request, call.Exact)
		}
		if !strings.Contains(request, says) {
			t.Errorf("%q is not in what the provider was sent: %.2000s", says, request)
		}
	}
	compact := func(session string) {
		t.Helper()
		want[parley.Compaction](s, 202, "POST", "/v1/sessions/"+session+"/compact", `{}`)
		if c := s.compacted(session); c.State != parley.CompactionCompleted {
			t.Fatalf("the compaction is %+v", c)
		}
	}

	short := s.session(`{"max_tokens":980000,` + redact + `}`).ID.String() // that leaves little room for messages
	s.told(short, `{"content":{"text":"`+strings.Repeat(value+" ", 300)+`"}}`)
	sent(short, "bytes are left out here")
	s.told(short, `{"content":{"text":"And now for something else."}}`)
	compact(short)
	sent(short, "[1] [User]")

	long := s.session(`{` + redact + `}`).ID.String()
	for range 4 {
		s.told(long, `{"content":{"text":"Keep this: `+value+strings.Repeat(" word", 2400)+`"}}`)
	}
	s.told(long, `{"content":{"text":"And this: `+value+`"}}`)
	compact(long)
	sent(long, `before the message that begins with \"And this:\"`)
	sent(long, `[1] Keep this:`)
}
