package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
