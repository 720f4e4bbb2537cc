package prompt

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
)

// How much of a text a request shows, in tokens. A longer one is shown by its beginning and its end; the record keeps
// all of it. What a request leaves room for is the usable part of the window.
const (
	// LongestText is the most that any text may take, whatever the window has room for.
	LongestText = 50_000
	// textShare is the part of the usable window that one text may take: the window divided by it.
	textShare = 4
	// stepShare is the part that the results of one step may take together.
	stepShare = 2
	// leastText is shown of a text in the smallest window.
	leastText = 1000

	// excerptTokens are shown of a tool's result that is too long.
	excerptTokens = 4000
	// leastExcerpt is shown of each result of a step that has so many that excerptTokens are too much.
	leastExcerpt = 32
	// excerptBorder is what the sentence between the beginning and the end takes.
	excerptBorder = 48
)

// The sentences between the beginning and the end of a text. They never change: requests must rebuild to the same
// bytes.
const (
	excerptGap   = "\n\n[%d of %d bytes are left out here. %s]\n\n"
	excerptRead  = "read_result with \"id\": %d reads all of it, or finds a text in it."
	excerptShort = "They are too much for this conversation's model."
)

// BoundsFor returns how long the texts of a request to a model may be, in stored estimates, beside fixed estimated
// tokens (the system prompt and the tools). A model of unknown length counts as one of UnknownContext. The bounds are
// part of each request, so they must not follow small changes:
// they are rounded down, and the model's ratio of tokens to estimates counts in powers of two.
func BoundsFor(info model.Info, parameters parley.Parameters, fixed int, ratio float64) parley.TextBounds {
	usable := contextOf(info) - fixed - Reserve(info, parameters)
	for ; ratio > 1.5; ratio /= 2 { // between two powers, the nearer one
		usable /= 2
	}
	text := max(leastText, min(LongestText, rounded(usable/textShare)))
	return parley.TextBounds{Text: text, Step: max(text, rounded(usable/stepShare))}
}

// rounded keeps the three leading bits of a number.
func rounded(n int) int {
	if n <= 0 {
		return 0
	}
	drop := max(0, bits.Len(uint(n))-3)
	return n >> drop << drop
}

// contentTokens returns the size of a message's content in a request, if it is shown whole, in stored estimates.
func contentTokens(m *parley.Message) int {
	if m.TokenEstimate > 0 {
		return m.TokenEstimate
	}
	return parley.EstimateContent(m.Content)
}

// excerpts maps the sequences of the messages that are shown by an excerpt to the tokens that it has: texts of people
// and results of tools that are too long, and results that are too much together, the largest first. rows are in
// order, ascending or descending, those that skip names are not shown. It is nil if all are shown whole.
func excerpts(bounds parley.TextBounds, rows []parley.Message, skip func(*parley.Message) bool) map[int64]int {
	if bounds.Text <= 0 {
		return nil
	}
	var cut map[int64]int
	shorten := func(m *parley.Message, tokens int) {
		if cut == nil {
			cut = map[int64]int{}
		}
		cut[m.Sequence] = tokens
	}
	for i := 0; i < len(rows); i++ {
		m := &rows[i]
		switch {
		case skip != nil && skip(m):
		case m.Role == parley.RoleUser && contentTokens(m) > bounds.Text:
			shorten(m, bounds.Text-excerptBorder)
		case m.Role == parley.RoleToolResult: // what follows without anything between is of the same step
			end := i + 1
			for end < len(rows) && rows[end].Role == parley.RoleToolResult {
				end++
			}
			shortenStep(bounds, rows[i:end], skip, shorten)
			i = end - 1
		}
	}
	return cut
}

// shortenStep chooses the excerpts among the results of one step.
func shortenStep(
	bounds parley.TextBounds,
	rows []parley.Message,
	skip func(*parley.Message) bool,
	shorten func(m *parley.Message, tokens int),
) {
	var results []*parley.Message
	sum := 0
	for i := range rows {
		if skip == nil || !skip(&rows[i]) {
			results = append(results, &rows[i])
			sum += contentTokens(&rows[i])
		}
	}
	slices.SortStableFunc(results, func(a, b *parley.Message) int { // by size, then by sequence, in any order of rows
		if d := contentTokens(b) - contentTokens(a); d != 0 {
			return d
		}
		return int(a.Sequence - b.Sequence)
	})
	excerpt := min(excerptTokens, bounds.Text/2)
	cut := 0 // the largest ones, so many of them, are excerpts
	for cut < len(results) && contentTokens(results[cut]) > excerpt+excerptBorder &&
		(contentTokens(results[cut]) > bounds.Text || sum > bounds.Step) {
		sum += excerpt + excerptBorder - contentTokens(results[cut])
		cut++
	}
	for sum > bounds.Step && excerpt > leastExcerpt { // even excerpts are too much
		before := excerpt
		excerpt = max(leastExcerpt, excerpt/2)
		sum -= cut * (before - excerpt)
		for ; cut < len(results) && contentTokens(results[cut]) > excerpt+excerptBorder && sum > bounds.Step; cut++ {
			sum += excerpt + excerptBorder - contentTokens(results[cut])
		}
	}
	for _, m := range results[:cut] {
		shorten(m, excerpt)
	}
}

// unshown reports whether a row of the record is not shown.
func unshown(m *parley.Message) bool { return reasonOut(m) != "" || m.Marks.SetAside }

// TokensShown returns the size of messages in a request with such bounds, in stored estimates.
func TokensShown(bounds parley.TextBounds, rows []parley.Message) (sum int) {
	for _, tokens := range sizesOf(bounds, stubbing{}, rows) {
		sum += tokens
	}
	return sum
}

// lightening has a window count the messages that are shown in part by what is shown of them: while the window is
// chosen, their estimates are those of the excerpts.
type lightening struct {
	bounds parley.TextBounds
	stubs  stubbing
	pinned []int64       // the results among the pinned messages, ascending
	whole  map[int64]int // the stored estimates of such messages
}

// lighten changes the estimates of rows.
func (l *lightening) lighten(rows []parley.Message) {
	cut := excerpts(l.bounds, rows, unshown)
	for i := range rows {
		m := &rows[i]
		tokens, light := cut[m.Sequence]
		tokens += excerptBorder
		if l.stubs.has(m) {
			tokens, light = stubTokens, true
		}
		if !light {
			continue
		}
		if l.whole == nil {
			l.whole = map[int64]int{}
		}
		l.whole[m.Sequence] = m.TokenEstimate
		m.TokenEstimate = tokens
	}
}

// restore gives messages their stored estimates back.
func (l *lightening) restore(messages []parley.Message) {
	for i := range messages {
		if tokens, light := l.whole[messages[i].Sequence]; light {
			messages[i].TokenEstimate = tokens
		}
	}
}

// tail reads the record for a window, without the steps that are left out. Results of one step count together, so its
// pages end between steps.
func (l *lightening) tail(read Tail) Tail {
	if l.bounds.Text <= 0 && l.stubs.older == nil {
		return read
	}
	cut := l.stubs.turn
	return func(before int64, limit int) (rows []parley.Message, more bool, err error) {
		for {
			page, older, err := read(before, limit)
			if err != nil || len(page) == 0 {
				l.lighten(rows)
				return rows, older, err
			}
			for i := range page {
				if !drops(cut, &page[i]) {
					rows = append(rows, page[i])
				}
			}
			last := &page[len(page)-1]
			dropped := cut != nil && last.Sequence >= cut.From && last.Sequence <= cut.Dropped
			if !older || !dropped && last.Role != parley.RoleToolResult {
				l.lighten(rows)
				return rows, older, nil
			}
			before, limit = last.Sequence, tailSlack
		}
	}
}

// head reads what may precede a window.
func (l *lightening) head(read func() (parley.ContextHead, error)) func() (parley.ContextHead, error) {
	if read == nil {
		return nil
	}
	return func() (parley.ContextHead, error) {
		head, err := read()
		for i := range head.Pinned {
			if m := &head.Pinned[i]; m.Role == parley.RoleToolResult {
				l.pinned = append(l.pinned, m.Sequence)
			}
		}
		if older := l.stubs.older; older != nil {
			*older = *stubsOf(older.Through, l.pinned)
		} else if l.bounds.Text <= 0 {
			return head, err
		}
		l.lighten(head.Pinned)
		if first := head.First; first != nil {
			one := []parley.Message{*first}
			l.lighten(one)
			head.First = &one[0]
		}
		return head, err
	}
}

// said reads what people said in the running turn.
func (l *lightening) said(
	read func(int64) ([]parley.Message, error),
) func(int64) ([]parley.Message, error) {
	if l.bounds.Text <= 0 || read == nil {
		return read
	}
	return func(through int64) ([]parley.Message, error) {
		rows, err := read(through)
		l.lighten(rows)
		return rows, err
	}
}

// excerpting makes the excerpts of a request.
type excerpting struct {
	cut      map[int64]int
	stubs    stubbing
	known    Known
	edges    *Edges
	readable bool // the model has read_result
	block    int  // the number of the block of knowledge
}

func excerptingOf(manifest parley.Manifest, shown []parley.Message, tools []parley.ToolDefinition) excerpting {
	e := excerpting{stubs: stubbing{manifest.Turn, manifest.Stubs}, block: manifest.KnowledgeBlock}
	if manifest.Bounds != nil {
		e.cut = excerpts(*manifest.Bounds, shown, nil)
	}
	if e.cut != nil || !e.stubs.none() {
		e.readable = slices.ContainsFunc(tools, func(t parley.ToolDefinition) bool {
			return t.Name == parley.ReadResultTool
		})
	}
	return e
}

// result returns what is shown of a result's text.
func (e excerpting) result(m *parley.Message, text string) string {
	tokens, short := e.cut[m.Sequence]
	if !short {
		return text
	}
	return e.excerpt(m, text, share(len(text), tokens, contentTokens(m)))
}

// user shortens the texts of a user's message, the largest first.
func (e excerpting) user(m *parley.Message, parts []model.Part) {
	tokens, short := e.cut[m.Sequence]
	if !short {
		return
	}
	var texts []*model.Part
	sum := 0
	for i := range parts {
		if parts[i].Kind == model.PartText {
			texts = append(texts, &parts[i])
			sum += len(parts[i].Text)
		}
	}
	slices.SortStableFunc(texts, func(a, b *model.Part) int { return len(b.Text) - len(a.Text) })
	left := share(sum, tokens, contentTokens(m))
	for i := len(texts) - 1; i >= 0; i-- { // the smallest first: what they leave is the others'
		fair := left / (i + 1)
		if len(texts[i].Text) > fair {
			texts[i].Text = e.excerpt(m, texts[i].Text, fair)
			left -= fair
			continue
		}
		left -= len(texts[i].Text)
	}
}

// share returns the bytes of a text that take a number of its tokens.
func share(length, tokens, of int) int {
	return int(int64(length) * int64(min(tokens, of)) / int64(max(1, of)))
}

// excerpt returns the beginning and the end of a text, with at most so many of its bytes: two thirds of them from its
// beginning. It cuts between lines where that costs little, and never within a hidden value.
func (e excerpting) excerpt(m *parley.Message, text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := runeStart(text, most*2/3), runeStart(text, len(text)-most/3)
	if at := strings.LastIndexByte(text[:head], '\n'); at > head*3/4 {
		head = at
	}
	if at := strings.IndexByte(text[tail:], '\n'); at >= 0 && at < (len(text)-tail)/4 {
		tail += at + 1
	}
	says := excerptShort
	if e.readable {
		says = fmt.Sprintf(excerptRead, m.Sequence)
	}
	gap := func(head, tail int) string { return fmt.Sprintf(excerptGap, tail-head, len(text), says) }
	head, tail = e.edges.cut(text, head, tail, gap)
	return text[:head] + gap(head, tail) + text[tail:]
}

// runeStart returns the beginning of the character at a position of a text.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
