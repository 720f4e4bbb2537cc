package worker

import (
	"context"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// MaxBlocks bounds the blocks of one model answer.
const MaxBlocks = 1024

// answer collects one model answer as the rows of a step. The first assistant row takes leading reasoning and the text
// after it; reasoning after text, text after a call, and each call open a row of their own.
type answer struct {
	turn    *claimed
	step    int
	attempt int    // the step's last attempt
	rows    []*row // in sequence order; the first is there from the start
	blocks  []*row // indexed by the adapter's block number
	begun   bool   // the store has opened the step
	shown   bool   // watchers have seen some of it
	silent  bool   // the last attempt failed with no output: the next one waits less
	bytes   int
	held    int64             // bytes counted against the process's room for answers
	call    store.CallSettled // the last call
	usage   parley.Usage
	finish  parley.FinishReason // "" until the answer is complete
	failure *parley.Failure     // why there is no answer
	status  int                 // the HTTP status of the provider's failure, or 0
	retry   retryable
	started time.Time
	first   time.Time // of the first chunk
	ended   time.Time

	question  *question     // the question that it answers
	noted     []model.Chunk // as received from the model, for the response cache
	noteBytes int           // size of their contents
}

func newAnswer(t *claimed, step int) *answer {
	first := &row{id: parley.NewID(), fence: t.fence, role: parley.RoleAssistant, model: t.settings.Model}
	return &answer{turn: t, step: step, rows: []*row{first}}
}

// again resets an attempt that has shown nothing.
func (a *answer) again() {
	first := a.rows[0]
	first.refusal.Reset()
	first.data, first.cited, first.reasoned, first.texted = nil, nil, false, false
	first.chunks.Store(0)
	a.rows, a.blocks = a.rows[:1], a.blocks[:0]
	a.bytes, a.usage, a.finish, a.failure, a.status, a.retry = 0, parley.Usage{}, "", nil, 0, retryable{}
	a.first, a.ended = time.Time{}, time.Time{}
}

// errTooLong ends an answer that exceeds its bounds.
var errTooLong = model.NewError(parley.ClassModel, false, "the answer is longer than this server accepts", nil)

// Bounds, in bytes of text, on the answers that a process receives at once. The process holds several copies of each.
const (
	answersBytes    = 64 << 20  // a workspace at most half of what the others leave
	freeAnswerBytes = 256 << 10 // of each answer: not counted
	answerHoldStep  = 256 << 10
	rowBytes        = 2 << 10 // per further row, in addition to its text
)

// errCrowded ends an answer that finds no room beside the others.
var errCrowded = model.NewError(
	parley.ClassLimit,
	false,
	"the long answers under way use all the memory that this server allows them; try again when one has ended",
	nil,
)

// hold counts the answer's present size.
func (a *answer) hold() error {
	for int64(a.bytes+(len(a.rows)-1)*rowBytes) > a.held+freeAnswerBytes {
		if !a.turn.w.answers.Take(a.turn.owner(), answerHoldStep) {
			return errCrowded
		}
		a.held += answerHoldStep
	}
	return nil
}

// release gives back the room that the answer held.
func (s *asking) release() {
	if a := s.answering; a != nil && a.held > 0 {
		s.w.answers.Give(s.owner(), a.held)
		a.held = 0
	}
}

// take adds a chunk. Its error is the store's, errTooLong or errCrowded.
func (a *answer) take(chunk *model.Chunk) error {
	switch chunk.Kind {
	case model.ChunkUsage:
		a.usage = chunk.Usage
		return nil
	case model.ChunkFinish:
		a.finish = chunk.Finish
		return nil
	case model.ChunkCitation:
		return a.cite(chunk)
	}
	var into *row
	if chunk.Block >= 0 && chunk.Block < len(a.blocks) {
		into = a.blocks[chunk.Block]
	}
	if into == nil {
		var err error
		if into, err = a.rowFor(chunk); err != nil {
			return err
		}
	}
	into.chunks.Add(1)
	if chunk.Kind == model.ChunkProviderData {
		if a.bytes += len(chunk.Data); a.bytes > parley.MaxAnswerBytes {
			return errTooLong
		}
		if err := a.hold(); err != nil {
			return err
		}
		if into.data == nil || into.dataFrom == chunk.Block {
			into.data, into.dataFrom = chunk.Data, chunk.Block
		}
		return nil
	}
	text := chunk.Text
	if text == "" {
		return a.hold()
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD") // neither database stores NUL
	}
	if a.bytes += len(text); a.bytes > parley.MaxAnswerBytes {
		return errTooLong
	}
	if err := a.hold(); err != nil {
		return err
	}
	kind := parley.KindText
	switch chunk.Kind {
	case model.ChunkReasoning:
		kind = parley.KindReasoning
	case model.ChunkArguments:
		kind = parley.KindArguments
	case model.ChunkRefusal:
		into.refusal.WriteString(text)
		return nil // shown when it settles
	}
	a.shown = true
	return a.show(into, kind, text)
}

// cite keeps the source of a piece of text until the row settles.
func (a *answer) cite(chunk *model.Chunk) error {
	if chunk.Citation == nil || chunk.Block < 0 || chunk.Block >= len(a.blocks) || a.blocks[chunk.Block] == nil {
		return nil
	}
	into := a.blocks[chunk.Block]
	if len(into.cited) == parley.MaxCitations {
		return nil
	}
	into.cited = append(into.cited, *chunk.Citation)
	if a.bytes += chunk.Citation.Size(); a.bytes > parley.MaxAnswerBytes {
		return errTooLong
	}
	return a.hold()
}

// show sends watchers a row's new text, and never more than MaxUnkept bytes beyond what the store has: this bounds what
// the death of this process can lose.
func (a *answer) show(into *row, kind parley.ContentKind, text string) error {
	for text != "" {
		piece := text[:cutAt(text, parley.MaxUnkept)]
		if into.shown+len(piece)-int(into.stored.Load()) > parley.MaxUnkept {
			if err := a.keep(into); err != nil {
				return err
			}
		}
		into.stream.Append(kind, piece)
		into.shown += len(piece)
		text = text[len(piece):]
	}
	return nil
}

// cutAt returns where to cut text to at most n bytes without splitting a character.
func cutAt(text string, n int) int {
	if len(text) <= n {
		return len(text)
	}
	for least := n - utf8.UTFMax; n > least && !utf8.RuneStart(text[n]); {
		n--
	}
	return n
}

// keep waits until the store has everything shown of a row, or the turn ends.
func (a *answer) keep(r *row) error {
	for wait := keepPause; ; wait = min(2*wait, longestKeepPause) {
		a.turn.w.flusher.flush(a.turn.writes, []*row{r})
		if int(r.stored.Load()) >= r.shown {
			return nil
		}
		if !a.turn.w.options.sleep(a.turn.ctx, wait) {
			return context.Cause(a.turn.ctx)
		}
	}
}

// Pauses before a failed flush of an answer is tried again.
const (
	keepPause        = 10 * time.Millisecond
	longestKeepPause = time.Second
)

// rowFor finds the row for a new block, and opens one where the block cannot join the last row.
func (a *answer) rowFor(chunk *model.Chunk) (*row, error) {
	if chunk.Block < 0 || chunk.Block >= MaxBlocks {
		return nil, errTooLong
	}
	for len(a.blocks) <= chunk.Block {
		a.blocks = append(a.blocks, nil)
	}
	into := a.rows[len(a.rows)-1]
	joins := into.role == parley.RoleAssistant && !into.texted
	switch chunk.Kind {
	case model.ChunkText:
	case model.ChunkRefusal:
		joins = into.role == parley.RoleAssistant && into.refusal.Len() == 0
	case model.ChunkToolCall, model.ChunkArguments:
		joins = false
	default: // reasoning, or opaque reasoning data that the provider wants back
		joins = joins && !into.reasoned
	}
	if !joins {
		var err error
		if into, err = a.openRow(chunk); err != nil {
			return nil, err
		}
	}
	switch chunk.Kind {
	case model.ChunkText, model.ChunkRefusal:
		into.texted = true
	case model.ChunkReasoning, model.ChunkProviderData:
		into.reasoned = true
	}
	a.blocks[chunk.Block] = into
	return into, nil
}

// openRow opens a further row of the step, durable before its first delta.
func (a *answer) openRow(chunk *model.Chunk) (*row, error) {
	fresh := &row{id: parley.NewID(), fence: a.turn.fence, role: parley.RoleAssistant, model: a.turn.settings.Model}
	if chunk.Kind == model.ChunkToolCall || chunk.Kind == model.ChunkArguments {
		fresh.role = parley.RoleToolCall
		fresh.callID = "call_" + hex.EncodeToString(fresh.id[:])
		fresh.toolName = parley.Clip(strings.ReplaceAll(chunk.Name, "\x00", "\uFFFD"), parley.MaxNameBytes-4)
	}
	opened, err := a.turn.w.store.OpenBlock(a.turn.writes, a.turn.fence, store.BlockOpen{
		MessageID:  fresh.id,
		Step:       a.step,
		Role:       fresh.role,
		Author:     a.turn.author,
		AgentType:  a.turn.claim.Trigger.AgentType,
		Model:      a.turn.settings.Model,
		ToolCallID: fresh.callID,
		ToolName:   fresh.toolName,
	})
	if err != nil {
		return nil, err
	}
	a.turn.wrote(opened.Sequence)
	a.shown = true
	fresh.open(a.turn.w)
	a.rows = append(a.rows, fresh)
	return fresh, nil
}

// refused reports that the model or a filter declined to answer.
func (a *answer) refused() bool {
	if a.finish == parley.FinishRefusal {
		return true
	}
	for _, r := range a.rows {
		if r.refusal.Len() > 0 {
			return true
		}
	}
	return false
}

// empty reports that a complete answer has neither text nor calls.
func (a *answer) empty() bool {
	for _, r := range a.rows {
		if r.role == parley.RoleToolCall || strings.TrimSpace(r.stream.Text(parley.KindText)) != "" {
			return false
		}
	}
	return true
}

// drop makes the hub forget the rows, because the claim is lost or given back.
func (a *answer) drop() {
	a.turn.w.flusher.remove(a.rows)
	for _, r := range a.rows {
		if r.stream != nil {
			r.stream.Drop()
		}
	}
}
