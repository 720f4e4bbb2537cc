package prompt

import (
	"encoding/base64"
	"slices"

	"example.org/parley"
	"example.org/parley/model"
)

// Kind says what a part of a request is.
type Kind string

// The kinds of parts, in the order in which providers read them and in which their caches match.
const (
	KindTool       Kind = "tool"
	KindSystem     Kind = "system"
	KindSummary    Kind = "summary"
	KindNote       Kind = "context_note" // what a user message carries besides its text
	KindMessage    Kind = "message"
	KindParameters Kind = "parameters" // everything else: the model, sampling, the wire's own fields
)

// Part is a piece of a request: what it is, why it is there, its size, and its position in the request's bytes.
type Part struct {
	Kind     Kind    `json:"kind" enum:"tool,system,summary,context_note,message,parameters"`
	Name     *string `json:"name" doc:"The name of a tool, or of the tool of a call or result."`
	Sequence *int64  `json:"sequence" doc:"The message of the record that it shows."`
	// MessageID, Pinned and Stubbed are the message's: a part without a message has none.
	MessageID parley.ID `json:"message_id" doc:"The message of the record; null if it shows none."`
	Pinned    bool      `json:"pinned" doc:"Whether the message is pinned now."`
	Stubbed   bool      `json:"stubbed" doc:"Whether only the size of the message is shown."`

	Role   *string `json:"role" enum:"user,assistant,tool" doc:"The role in which the model reads it."`
	Reason string  `json:"reason" doc:"Why it is in the request."`
	Bytes  int     `json:"bytes" doc:"Bytes in the request, without the wire's frame around it if its position is known."`
	Tokens int     `json:"tokens" doc:"An estimate; all parts add up to the provider's count once it is known."`
	Span   *Span   `json:"span" doc:"Its position in the request's bytes; null if unknown."`

	// Cached is how many of its tokens were in the provider's cache: the reported number is assigned from the front;
	// null if none was reported.
	Cached *int `json:"cached_tokens" doc:"How many of its tokens the provider took from its cache; null if it did not say."`

	weighed string // the text whose tokens are counted
	beside  int    // further tokens: its borders, its images
}

// Total sums the parts of a kind.
type Total struct {
	Kind   Kind `json:"kind" enum:"tool,system,summary,context_note,message,parameters"`
	Parts  int  `json:"parts"`
	Bytes  int  `json:"bytes"`
	Tokens int  `json:"tokens"`
}

// Parts takes a request apart, in the order in which providers read it. encoded is the adapter's encoding, shown are
// the messages of the record in it, ascending; the manifest says why.
func Parts(request *model.Request, encoded []byte, manifest parley.Manifest, shown []parley.Message) []Part {
	t := takingApart{wire: readBody(encoded), manifest: manifest, rows: make(map[int64]*parley.Message, len(shown))}
	for i := range shown {
		t.rows[shown[i].Sequence] = &shown[i]
	}
	if manifest.Bounds != nil {
		t.cut = excerpts(*manifest.Bounds, shown, nil)
	}
	t.tools(request)
	messages := t.wire.findIn("messages")
	t.system(request, &messages)
	for i := range request.Messages {
		m := &request.Messages[i]
		for j := range m.Parts {
			t.piece(&messages, m.Role, &m.Parts[j])
		}
	}
	t.rest()
	for i := range t.parts {
		p := &t.parts[i]
		if p.Kind == KindParameters {
			continue
		}
		if p.Bytes = len(p.weighed); p.Span != nil {
			p.Bytes = p.Span.Length
		}
		p.Tokens = Estimate(request.Model, p.weighed) + p.beside
		p.weighed, p.beside = "", 0
	}
	return t.parts
}

type takingApart struct {
	wire     body
	cut      map[int64]int // the messages that are shown in part
	manifest parley.Manifest
	rows     map[int64]*parley.Message
	parts    []Part
}

func (t *takingApart) tools(request *model.Request) {
	inTools := t.wire.findIn("tools")
	for i := range request.Tools {
		tool := &request.Tools[i]
		part := Part{
			Kind:    KindTool,
			Name:    &tool.Name,
			Reason:  "the agent's tools",
			weighed: tool.Name + tool.Description + string(tool.Parameters),
		}
		for n, l := range inTools.leaves {
			if l.name == "name" && string(t.wire.bytes[l.Offset:l.end()]) == tool.Name {
				part.Span = &inTools.leaves[n].element
				break
			}
		}
		t.parts = append(t.parts, part)
	}
}

func (t *takingApart) system(request *model.Request, messages *finder) {
	if request.System == "" {
		return
	}
	part := Part{
		Kind:    KindSystem,
		Reason:  "the agent's system prompt, filled in, and the session's instructions",
		weighed: request.System,
	}
	apart := t.wire.findIn("system")
	at, _, found := apart.find(request.System)
	if !found {
		at, _, found = messages.find(request.System)
	}
	if found {
		part.Span = &at
	}
	t.parts = append(t.parts, part)
}

// piece adds a part of a request message to its row's part, or begins one.
func (t *takingApart) piece(in *finder, role model.Role, p *model.Part) {
	row := t.rows[p.Sequence]
	kind, name := KindMessage, p.Name
	switch {
	case row == nil:
	case row.Role == parley.RoleSummary:
		kind = KindSummary
	case row.Role == parley.RoleUser && p.Kind == model.PartText && p.Text != "" &&
		p.Text == parley.WithoutOldNews(row.ContextNote, t.manifest.KnowledgeBlock):
		kind = KindNote
	}
	if p.Kind == model.PartImage {
		name = ""
	}
	var at Span
	found := false
	if p.Kind != model.PartImage || role != model.RoleTool { // an image of a result may follow other results
		at, found = locate(in, p)
	}
	if last := len(t.parts) - 1; last >= 0 {
		if one := &t.parts[last]; one.Kind == kind && one.Sequence != nil && *one.Sequence == p.Sequence &&
			*one.Role == string(role) {
			one.weighed += weight(p)
			one.beside += imageWeight(p)
			if found {
				if one.Span == nil {
					one.Span = &Span{}
				}
				joined := one.Span.join(at)
				one.Span = &joined
			}
			return
		}
	}
	part := Part{
		Kind:    kind,
		Role:    new(string(role)),
		Reason:  t.reason(p.Sequence),
		weighed: weight(p),
		beside:  imageWeight(p),
	}
	if kind != KindNote { // a note shares its message's borders
		part.beside += overheadTokens
	}
	if p.Sequence != 0 {
		part.Sequence = &p.Sequence
	}
	if row != nil {
		part.MessageID, part.Pinned = row.ID, row.Marks.Pinned
		part.Stubbed = (stubbing{t.manifest.Turn, t.manifest.Stubs}).has(row)
	}
	if name != "" {
		part.Name = &name
	}
	if p.Kind == model.PartToolResult && (row == nil || row.Role != parley.RoleToolResult) {
		part.Reason = "the record has no result of this call; the model is told so"
	}
	if r := t.manifest.Rejected; p.Sequence == 0 && r != nil && p.Text == rejectedText(r) {
		part.Reason = "says why the answer before was not accepted"
	}
	if p.Sequence == 0 && isNotice(t.manifest, p.Text) {
		part.Reason = "says which messages are missing here"
	}
	if found {
		part.Span = &at
	}
	t.parts = append(t.parts, part)
}

// leastReasoning is the shortest reasoning searched for: adapters leave reasoning out, and a short text could be found
// elsewhere.
const leastReasoning = 16

// locate finds a part of a request message in the encoded request.
func locate(in *finder, p *model.Part) (Span, bool) {
	switch p.Kind {
	case model.PartToolCall:
		at, element, found := in.find(p.Name)
		if !found || element.Length == 0 {
			return at, found
		}
		for in.at < len(in.leaves) && in.leaves[in.at].Offset < element.end() {
			in.at, in.in = in.at+1, 0
		}
		return element, true
	case model.PartImage:
		_, element, found := in.find(base64.StdEncoding.EncodeToString(p.Data[:min(len(p.Data), 48)/3*3]))
		return element, found
	case model.PartReasoning:
		if len(p.Text) < leastReasoning {
			return Span{}, false
		}
	}
	at, _, found := in.find(p.Text)
	return at, found
}

// weight returns the text whose tokens count for a part, except for images.
func weight(p *model.Part) string {
	if p.Kind == model.PartToolCall {
		return p.Name + string(p.Arguments)
	}
	return p.Text
}

func imageWeight(p *model.Part) int {
	if p.Kind != model.PartImage {
		return 0
	}
	return imageTokens(p.Width, p.Height)
}

// rest collects the members of the request's outermost object that hold no other part.
func (t *takingApart) rest() {
	part := Part{Kind: KindParameters, Reason: "the model, its parameters and the wire's own fields"}
	size := 0
	for _, name := range t.wire.order {
		if name == "messages" || name == "tools" || name == "system" {
			continue
		}
		size += len(name) + len(`"":`) + t.wire.members[name].Length
	}
	if size > 0 {
		part.Bytes = size
		t.parts = append(t.parts, part)
	}
}

// reason says why a message is in the request, and whether it is shown in part.
func (t *takingApart) reason(sequence int64) string {
	reason := reasonIn(t.manifest, sequence)
	if row := t.rows[sequence]; row != nil {
		switch {
		case (stubbing{turn: t.manifest.Turn}).has(row):
			return reason + shownAsStub
		case (stubbing{older: t.manifest.Stubs}).has(row):
			return reason + shownAsOldStub
		}
	}
	if _, short := t.cut[sequence]; short {
		reason += shownInPart
	}
	return reason
}

// reasonIn says why a manifest contains a sequence.
func reasonIn(manifest parley.Manifest, sequence int64) string {
	for _, r := range manifest.Ranges {
		if sequence >= r.From && sequence <= r.To {
			return r.Reason
		}
	}
	return ""
}

// Sum adds up parts by kind, in order.
func Sum(parts []Part) []Total {
	totals := []Total{}
	for i := range parts {
		at := slices.IndexFunc(totals, func(t Total) bool { return t.Kind == parts[i].Kind })
		if at < 0 {
			totals, at = append(totals, Total{Kind: parts[i].Kind}), len(totals)
		}
		totals[at].Parts++
		totals[at].Bytes += parts[i].Bytes
		totals[at].Tokens += parts[i].Tokens
	}
	return totals
}

// Tokens sums the estimates of parts.
func Tokens(parts []Part) (sum int) {
	for i := range parts {
		sum += parts[i].Tokens
	}
	return sum
}

// Fit scales the estimates of parts so that they add up to a request's tokens, as its provider counted them or as
// earlier calls predict.
func Fit(parts []Part, tokens int) {
	all := Tokens(parts)
	if all == 0 || tokens <= 0 {
		return
	}
	before, seen := 0, 0
	for i := range parts {
		seen += parts[i].Tokens
		through := int(float64(seen)/float64(all)*float64(tokens) + 0.5)
		parts[i].Tokens, before = through-before, through
	}
}

// MarkCached says which parts were in the provider's cache. Providers match from the front, so the reported tokens are
// the first ones; the estimates are scaled to the counted input.
func MarkCached(parts []Part, usage parley.Usage) {
	if usage.CachedTokens == nil || usage.InputTokens == nil {
		return
	}
	all := Tokens(parts)
	if all == 0 {
		return
	}
	left := int(*usage.CachedTokens * int64(all) / max(*usage.InputTokens, 1))
	for i := range parts {
		held := min(left, parts[i].Tokens)
		left -= held
		parts[i].Cached = &held
	}
}
