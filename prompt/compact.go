package prompt

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// How much of a conversation a compaction leaves in full.
const (
	// KeepShare is the share of a limit in messages that the newest turns, which a summary does not cover, may have:
	// the limit divided by KeepShare. In tokens they may have Budget.Keep.
	KeepShare = 4
	// KeepTurns is how many complete turns stay uncovered, unless one alone would fill half of the window. If the model
	// has refused a request as too long, only the running turn does.
	KeepTurns = 1
)

// The texts of summarising requests. What compactionRequest makes never changes: requests must rebuild to the same
// bytes. The record keeps system prompts and instructions.
const (
	compactionClose = "This is the end of the part to be summed up. Write the summary now."

	numberLabel    = "[%d] "
	earlierIntro   = "[Summary of what came before]\n"
	userLabel      = "[User] "
	assistantLabel = "[Assistant] "
	callLabel      = "[Assistant calls %s] "
	resultLabel    = "[Result of %s] "
	failedLabel    = "[Result of %s, which failed] "
	systemLabel    = "[System] "
	summaryLabel   = "[Imported summary] "
	attachedLabel  = "[User, with %d files] "
	// compactionPolicy names a transcript whose messages begin with their numbers; olderPolicy, one without.
	compactionPolicy = "compaction-2"
	olderPolicy      = "compaction"
)

// LongestPiece is the most of a single message that a summarising request shows, in bytes.
const LongestPiece = 16 << 10

// StepPiece is how much of a single message a summary of a turn's steps shows at least before it covers fewer steps, in
// bytes.
const StepPiece = 1 << 10

// pieceSizes are the bytes to which single messages are cut in a summarising request, from the largest to the smallest:
// a smaller size is used if otherwise not even one turn would fit.
var pieceSizes = [...]int{LongestPiece, 4 << 10, 1 << 10, 256} //nolint:gochecknoglobals // never written

// Source is what a summary is written from.
type Source struct {
	From, Through int64            // the sequences of the first and the last message that it covers
	Absorbs       parley.ID        // the earlier summary in it; zero without one
	Messages      []parley.Message // the earlier summary first, then ascending
	Manifest      parley.Manifest
	Bytes         int    // size of the transcript
	Draft         string // the summary of the parts before this one; "" without any
}

// Keep says how much of the newest turns a compaction leaves in full: always Turns of them, unless they have more than
// Most tokens, and more turns up to the given messages and tokens. Zero tokens mean any number. Tokens are stored
// estimates. With Steps it counts steps instead of turns: the newest one stays, and more up to the given tokens.
type Keep struct {
	Turns, Messages, Tokens, Most int
	Steps                         bool
}

// Keeps returns what a compaction leaves in full. One requested by a person, or needed by a request that was too long,
// leaves as little as possible.
func Keeps(policy parley.Policy, reason parley.CompactionReason, budget Budget) Keep {
	switch reason {
	case parley.CompactOverflow:
		return Keep{}
	case parley.CompactSteps:
		return Keep{Steps: true, Tokens: budget.stored(budget.Keep())}
	}
	keep := Keep{Turns: KeepTurns, Most: budget.stored(budget.whole())}
	if reason == parley.CompactAsked {
		return keep
	}
	keep.Messages, keep.Tokens = parley.MaxPolicyLimit, budget.stored(budget.Keep())
	if limit := policy.SummaryLimit(); limit > 0 {
		keep.Messages = limit / KeepShare
	}
	return keep
}

// Kept counts the newest rows that a compaction leaves in full: rows, newest first, are settled and newer than
// everything that a summary already covers. The unfinished turn stays whole, whatever keep says. It returns false if
// older rows must be read to be sure, which never happens if these are all (whole).
func Kept(rows []parley.Message, unfinished parley.Turn, keep Keep, whole bool) (int, bool) {
	if keep.Steps {
		return keptSteps(rows, keep.Tokens, whole)
	}
	own := running(rows, unfinished)
	start, turns, messages, tokens := own, 0, 0, 0
	for at := own; at < len(rows); at++ {
		if !standsFor(&rows[at]) { // a summary is not a turn
			messages++
			tokens += TokensOf(&rows[at])
		}
		switch {
		case keep.Most > 0 && turns < keep.Turns && tokens > keep.Most,
			turns >= keep.Turns && (messages > keep.Messages || keep.Tokens > 0 && tokens > keep.Tokens):
			return start, true
		case at+1 == len(rows):
			if whole { // the oldest turn stays too
				return len(rows), true
			}
			return start, false
		case beginsTurn(rows, at, newestFirst):
			turns, start = turns+1, at+1
		}
	}
	return start, whole
}

// keptSteps is Kept by steps.
func keptSteps(rows []parley.Message, most int, whole bool) (int, bool) {
	start, tokens := 0, 0
	for at := range rows {
		tokens += tokensOf(rows[at : at+1])
		switch {
		case start > 0 && tokens > most:
			return start, true
		case beginsStep(rows, at, newestFirst):
			start = at + 1
		}
	}
	if whole { // the oldest step stays too
		return len(rows), true
	}
	return start, false
}

// startsStep reports whether a step begins at m, given the previous row. What somebody says belongs to the step behind
// it.
func startsStep(m, before *parley.Message) bool {
	if m.Role == parley.RoleToolResult || before.Role == parley.RoleUser && m.TurnID == before.TurnID {
		return false
	}
	return startsTurn(m, before) || m.Role == parley.RoleUser || m.Step != before.Step
}

// CompactionDue says why a summary of a context is due: messages not covered by a summary (a summary counts as one), or
// the model's tokens; "" if none is due.
func CompactionDue(policy parley.Policy, budget Budget, messages, tokens int64) parley.CompactionReason {
	limit := int64(policy.SummaryLimit())
	switch due := int64(budget.Due()); {
	case !policy.Summarises():
	case limit > 0 && messages >= limit:
		return parley.CompactMessages
	case due > 0 && tokens >= due:
		return parley.CompactTokens
	}
	return ""
}

// Uncovered counts the messages of a selection that no summary covers, with the summary as one, and how many of them
// are not the running turn's.
func Uncovered(selection Selection, turn parley.Turn) (messages, others int64) {
	var covered int64
	for i := range selection.Messages {
		m := &selection.Messages[i]
		switch {
		case standsFor(m):
			covered = *m.CoversThrough
			messages++
		case m.Sequence > covered:
			messages++
			if m.TurnID != turn.ID {
				others++
			}
		}
	}
	return messages, others
}

// PlanCompaction chooses what the next summary covers: earlier (nil: none) and as many of the turns in rows as fit into
// most bytes. rows, ascending, are the settled rows after those that earlier covers: complete turns, except the last if
// it is cut off (more). Internal and failed messages, those set aside and other summaries are left out. A turn is
// covered as a whole, and a call only with its result; a call that may still get a result is not covered. Nothing after
// through is covered (0: anything may be). With steps, turns are not whole: it ends behind any step, and rather cuts
// single messages to StepPiece bytes than to cover less. So it does by itself if not even one turn fits and nobody
// named through: a turn that is too long for one summary takes several. It returns false if there is nothing to cover.
func PlanCompaction(
	rows []parley.Message,
	earlier *parley.Message,
	more bool,
	through int64,
	most int,
	steps bool,
) (Source, bool) {
	sizes, begins := pieceSizes[:], beginsTurn
	if steps {
		begins = beginsStep
		sizes = slices.DeleteFunc(slices.Clone(sizes), func(size int) bool { return size > StepPiece })
	}
	ends := borders(rows, more, begins)
	if through > 0 {
		ends = slices.DeleteFunc(ends, func(end int) bool { return rows[end-1].Sequence > through })
	}
	if n := len(ends); steps && n > 0 {
		for _, size := range pieceSizes {
			s := sourceOf(rows[:ends[n-1]], earlier, size)
			if size > StepPiece && s.Bytes <= most && encodedSize(s.Manifest) <= parley.MaxManifestBytes {
				sizes = []int{size}
				break
			}
		}
	}
	s, fits := fitting(rows, ends, earlier, sizes, most)
	if !fits && !steps && through == 0 {
		return PlanCompaction(rows, earlier, more, through, most, true)
	}
	covers := len(s.Messages)
	if earlier != nil {
		covers--
	}
	return s, fits && covers > 0
}

// PlanPart chooses what one part of a summary from originals is made of: as many of the rows as fit into most bytes,
// up to the end of any step. rows, ascending, begin where the part before ended; they are all up to where the summary
// ends, unless they are cut off (more). A part may have no messages to show. It returns false if not even one step
// fits.
func PlanPart(rows []parley.Message, more bool, most int) (Source, bool) {
	ends := borders(rows, more, beginsStep)
	if n := len(rows); !more && n > 0 && !slices.Contains(ends, n) {
		ends = append(ends, n)
	}
	return fitting(rows, ends, nil, pieceSizes[:], most)
}

// LastEnd returns the last sequence, at most through, that a summary may cover; 0 if no row qualifies. The rows are
// settled and ascending. more says that the record continues after them.
func LastEnd(rows []parley.Message, more bool, through int64) int64 {
	for _, end := range slices.Backward(borders(rows, more, beginsTurn)) {
		if at := rows[end-1].Sequence; at <= through {
			return at
		}
	}
	return 0
}

// fitting returns the source with the most rows, up to one of the ends, that fits into most bytes with messages cut to
// the first of the sizes; with the next size if none does.
func fitting(rows []parley.Message, ends []int, earlier *parley.Message, sizes []int, most int) (Source, bool) {
	for _, size := range sizes {
		source := func(end int) (Source, bool) {
			s := sourceOf(rows[:ends[end]], earlier, size)
			return s, s.Bytes <= most && encodedSize(s.Manifest) <= parley.MaxManifestBytes
		}
		// What covers more is larger, so halving finds the most that fits: rows and marks are foreign, and trying one
		// end after the other would take their number squared.
		last := len(ends) - 1
		if last < 0 {
			break
		}
		s, fits := source(last)
		if !fits {
			first := sort.Search(last, func(i int) bool {
				_, fits := source(i)
				return !fits
			})
			if first == 0 {
				continue
			}
			s, _ = source(first - 1)
		}
		return s, true
	}
	return Source{}, false
}

// borders returns the positions after which rows may be cut, ascending: where a turn or a step begins, and never
// between a call and its present or possible result.
func borders(
	rows []parley.Message,
	more bool,
	begins func(rows []parley.Message, at, direction int) bool,
) (ends []int) {
	answered := map[string]int{} // by call: the position of the last result
	for i := range rows {
		if rows[i].Role == parley.RoleToolResult {
			answered[rows[i].ToolCallID] = i
		}
	}
	open := map[string]bool{}    // calls without a result that may still be answered
	outside := map[string]bool{} // by call: whether an outside agent recorded the latest: no turn says when it gave up
	next := 0                    // the next row that is not a summary, which may stand inside a turn
	for i := range rows {
		m := &rows[i]
		for next = max(next, i+1); next < len(rows) && standsFor(&rows[next]); {
			next++
		}
		id, out := m.ToolCallID, reasonOut(m) != ""
		switch m.Role {
		case parley.RoleToolCall:
			outside[id] = m.TurnID.IsZero()
			if !out && m.Status == parley.MessageCompleted {
				open[id] = true
			}
		case parley.RoleToolResult:
			if !out {
				delete(open, id)
			}
		}
		if open[id] && !outside[id] && answered[id] <= i { // its turn is over: no result will come
			delete(open, id)
		}
		if last := next == len(rows); last && more || !last && !begins(rows, next, ascending) {
			continue
		}
		if len(open) == 0 {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// sourceOf returns the source that covers rows.
func sourceOf(rows []parley.Message, earlier *parley.Message, size int) Source {
	s := Source{From: rows[0].Sequence, Through: rows[len(rows)-1].Sequence}
	if earlier != nil {
		s.Absorbs = earlier.ID
		if covered := parley.OriginOf(earlier.Metadata).CoversFrom; covered > 0 {
			s.From = covered
		}
	}
	s.Manifest = parley.Manifest{
		Policy: compactionPolicy + "(" + strconv.Itoa(size) + ")",
		Ranges: []parley.ManifestRange{},
	}
	if earlier != nil {
		s.Manifest.Ranges = append(
			s.Manifest.Ranges,
			parley.ManifestRange{From: earlier.Sequence, To: earlier.Sequence, Reason: "summary"},
		)
		s.Messages = append(s.Messages, *earlier)
	}
	w := rangeWriter{reason: "to be summed up", out: s.Manifest.Ranges}
	for i := range rows {
		m := &rows[i]
		if i > 0 {
			for hidden := rows[i-1].Sequence + 1; hidden < m.Sequence; hidden++ {
				w.leaveOut(hidden, reasonInternal)
			}
		}
		switch why := reasonOut(m); {
		case why != "":
			w.leaveOut(m.Sequence, why)
		case m.Role == parley.RoleSummary && m.CoversThrough != nil: // the earlier one comes first, others are void
		case m.Marks.SetAside:
			w.leaveOut(m.Sequence, reasonSetAside)
		default:
			s.Messages = append(s.Messages, *m)
			w.show(m.Sequence)
		}
	}
	w.end()
	s.Manifest.Ranges = w.out
	for _, part := range transcript(s.Messages, size, true, nil) { // edges only make it shorter
		s.Bytes += len(part.Text)
	}
	return s
}

// CompactionRequest makes the request to summarise a source: one user message, with a part for each message of the
// source. edges are those of the call's layers.
func CompactionRequest(model parley.ModelID, system string, source Source, edges *Edges) (model.Request, error) {
	return compactionRequest(model, system, parley.Parameters{}, source.Manifest, source.Messages, edges)
}

// sumsUp reports whether a manifest belongs to a request that shows a transcript to be summed up: how many bytes of
// each message it shows, and whether they begin with their numbers.
func sumsUp(manifest parley.Manifest) (size int, numbered, ok bool) {
	name, inner, found := strings.Cut(strings.TrimSuffix(manifest.Policy, ")"), "(")
	if !found || name != compactionPolicy && name != olderPolicy {
		return 0, false, false
	}
	size, err := strconv.Atoi(inner)
	if err != nil || size <= 0 {
		size = pieceSizes[0]
	}
	return size, name == compactionPolicy, true
}

func compactionRequest(
	modelID parley.ModelID,
	system string,
	parameters parley.Parameters,
	manifest parley.Manifest,
	shown []parley.Message,
	edges *Edges,
) (model.Request, error) {
	size, numbered, _ := sumsUp(manifest)
	parts := append(transcript(shown, size, numbered, edges), textPart(compactionClose))
	return model.Request{Model: modelID, System: system, Parameters: parameters, Purpose: parley.PurposeCompaction,
		Messages: []model.Message{{Role: model.RoleUser, Parts: parts}}}, edges.Err()
}

// transcript renders messages as text, the summary first. It leaves out what messages hold besides text (volatile
// context, reasoning, a provider's own data). numbered messages begin with their sequences, for citations.
func transcript(messages []parley.Message, size int, numbered bool, edges *Edges) []model.Part {
	parts := make([]model.Part, 0, len(messages)+1)
	for i := range messages {
		if m := &messages[i]; m.Role == parley.RoleSummary && m.CoversThrough != nil {
			parts = append(parts, textOfRow(m, earlierIntro+textOf(m)))
		}
	}
	for i := range messages {
		m := &messages[i]
		if text := told(m, size, edges); text != "" {
			if numbered {
				text = fmt.Sprintf(numberLabel, m.Sequence) + text
			}
			parts = append(parts, textOfRow(m, text))
		}
	}
	return parts
}

// told returns one message of a transcript, "" for one without text.
func told(m *parley.Message, size int, edges *Edges) string {
	label, text := "", ""
	switch m.Role {
	case parley.RoleUser:
		content := decodeUser(m)
		label, text = userLabel, content.Text
		if len(content.Links) > 0 {
			text += "\n" + linksIntro + "\n" + strings.Join(content.Links, "\n")
		}
		if n := len(content.Files); n > 0 {
			label = fmt.Sprintf(attachedLabel, n)
		}
	case parley.RoleSystem:
		label, text = systemLabel, textOf(m)
	case parley.RoleAssistant:
		content := decodeAssistant(m)
		label, text = assistantLabel, content.Text
		if content.Refusal != "" {
			text += content.Refusal
		}
	case parley.RoleToolCall:
		content := decode[parley.ToolCallContent](m)
		label, text = fmt.Sprintf(callLabel, m.ToolName), string(content.Arguments)
	case parley.RoleToolResult:
		content := decode[parley.ToolResultContent](m)
		label, text = fmt.Sprintf(resultLabel, m.ToolName), resultText(content)
		if !content.Success {
			label = fmt.Sprintf(failedLabel, m.ToolName)
		}
	case parley.RoleSummary:
		if m.CoversThrough != nil { // it precedes all others
			return ""
		}
		label, text = summaryLabel, textOf(m)
	}
	text = edges.Clip(text, size)
	if m.Status == parley.MessageCancelled {
		text = strings.TrimSpace(text + " " + Interrupted)
	}
	if text == "" && m.Role == parley.RoleAssistant { // it only called tools
		return ""
	}
	return label + text
}
