package engine

import (
	"context"
	"crypto/sha256"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// Anchor returns the end of the audit's chain, across all workspaces.
func (e *Engine) Anchor(ctx context.Context, principal parley.Principal) (_ parley.Anchor, err error) {
	ctx, call, err := e.enter(ctx, principal, "getAnchor", ReadAudit)
	if err != nil {
		return parley.Anchor{}, err
	}
	defer call.end(ctx, &err)
	return e.store.AuditAnchor(ctx)
}

// Verify makes the next step of a verification of the whole store. Only the machine's own user may, which the caller
// has checked. Only the first step of a verification leaves an audit entry.
func (e *Engine) Verify(
	ctx context.Context,
	principal parley.Principal,
	place parley.VerifyPlace,
	anchor *parley.Anchor,
) (_ parley.VerifyStep, err error) {
	ctx, call, err := e.enter(ctx, principal, "verify", ReadAudit)
	if err != nil {
		return parley.VerifyStep{}, err
	}
	defer call.end(ctx, &err)
	if place.Stage != "" {
		call.Unaudited()
	}
	return Verify(ctx, e.store, place, anchor)
}

// Verify makes the next step of a verification of a store, after a position. anchor, if given, is an earlier end of the
// audit's chain.
func Verify(
	ctx context.Context,
	store store.Verifiable,
	place parley.VerifyPlace,
	anchor *parley.Anchor,
) (parley.VerifyStep, error) {
	v := verification{ctx: ctx, store: store, place: place, anchor: anchor}
	v.step.Findings = []parley.Finding{}
	if v.step.Stage = place.Stage; v.step.Stage == "" {
		v.step.Stage = parley.VerifyPages
	}
	var err error
	switch place.Stage {
	case "", parley.VerifyPages:
		err = v.pages()
	case parley.VerifyRecords:
		err = v.records()
	case parley.VerifyFiles:
		err = v.files()
	case parley.VerifyChain:
		err = v.chain()
	case parley.VerifyAudit:
		err = v.audit()
	case parley.VerifyDone:
	default:
		err = parley.InvalidField("place", "is not a place that a step returned; leave it out to start over")
	}
	if err != nil {
		return parley.VerifyStep{}, err
	}
	v.step.Next, v.step.Done = v.place, v.place.Stage == parley.VerifyDone
	v.step.Anchor, err = store.AuditAnchor(ctx)
	return v.step, err
}

// verification is one step of a verification.
type verification struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the step
	store  store.Verifiable
	place  parley.VerifyPlace
	anchor *parley.Anchor
	step   parley.VerifyStep
	told   map[string]bool // sessions that unexplained has reported
}

func (v *verification) find(stage parley.VerifyStage, where, do, says string, args ...any) {
	v.step.Findings = append(
		v.step.Findings,
		parley.Finding{Stage: stage, Where: where, Says: fmt.Sprintf(says, args...), Do: do},
	)
}

// then begins a stage.
func (v *verification) then(stage parley.VerifyStage) { v.place = parley.VerifyPlace{Stage: stage} }

func (v *verification) pages() error {
	table, findings, err := v.store.CheckPages(v.ctx, v.place.Table)
	if err != nil {
		return err
	}
	v.step.Findings = append(v.step.Findings, findings...)
	if table == "" {
		v.then(parley.VerifyRecords)
		return nil
	}
	v.step.Checked++
	v.place = parley.VerifyPlace{Stage: parley.VerifyPages, Table: table}
	return nil
}

// Advice on findings.
const (
	doRecord = "compare it with a backup: parley restore puts one into another directory; until then do not trust " +
		"this session's record"
	doFile  = "upload the file again, or take it from a backup"
	doAudit = "compare the audit with a backup or with what was exported; somebody can write to the database " +
		"outside Parley"
)

func (v *verification) records() error {
	for begun := 0; v.step.Checked < parley.VerifyMessages && begun < parley.VerifySessions; {
		if v.place.Within {
			if err := v.record(); err != nil {
				return err
			}
			continue
		}
		heads, err := v.store.RecordHeads(v.ctx, v.place.ID, parley.VerifySessions)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			v.then(parley.VerifyFiles)
			return nil
		}
		for i := 0; i < len(heads) && v.step.Checked < parley.VerifyMessages && begun < parley.VerifySessions &&
			!v.place.Within; i++ {
			v.place = parley.VerifyPlace{
				Stage:       parley.VerifyRecords,
				WorkspaceID: heads[i].WorkspaceID,
				ID:          heads[i].SessionID,
				Within:      true,
			}
			begun++
			where := "session " + heads[i].SessionID.String()
			switch {
			case !heads[i].Listed:
				v.find(
					parley.VerifyRecords,
					where,
					doRecord,
					"its row among the sessions is missing, though nobody deleted it",
				)
			case heads[i].Hidden:
				v.find(
					parley.VerifyRecords,
					where,
					doRecord,
					"its row among the sessions is marked as deleted, though nobody deleted it",
				)
			}
			if err := v.record(); err != nil {
				return err
			}
		}
	}
	return nil
}

// record checks the next messages of a session against their hashes.
func (v *verification) record() error {
	p := &v.place
	where := "session " + p.ID.String()
	head, rows, there, err := v.store.RecordRows(v.ctx, p.WorkspaceID, p.ID, p.Number, parley.VerifyPage)
	if err != nil {
		return err
	}
	p.Within = there && len(rows) == parley.VerifyPage
	if !there {
		return nil
	}
	streams := false
	for i := range rows {
		r := &rows[i]
		v.step.Checked++
		if r.Sequence != p.Number+1 {
			v.find(parley.VerifyRecords, where, doRecord, "message %d is missing", p.Number+1)
			p.Within = false
			return nil
		}
		p.Number = r.Sequence
		if r.Input.Status == parley.MessageStreaming {
			streams = true
			continue
		}
		want, err := parley.ChainHash(p.Hash, r.Input)
		if p.Hash = r.Hash; err != nil || streams || want != r.Hash {
			v.find(
				parley.VerifyRecords,
				where,
				doRecord,
				"message %d is not what its hash says: its content, author, model, time or metadata was changed, or "+
					"a message before it",
				r.Sequence,
			)
		}
	}
	if !p.Within && (p.Number != head.LastSequence || p.Hash != head.LastHash) {
		v.find(
			parley.VerifyRecords,
			where,
			doRecord,
			"the record ends at message %d; the session says %d, or another hash",
			p.Number,
			head.LastSequence,
		)
	}
	return nil
}

func (v *verification) files() error {
	for size := int64(0); size < parley.VerifyBytes; {
		blobs, err := v.store.StoredBlobs(v.ctx, v.place.ID, 1)
		if err != nil {
			return err
		}
		if len(blobs) == 0 {
			v.then(parley.VerifyChain)
			return nil
		}
		blob := blobs[0]
		sum, read := sha256.New(), int64(0)
		for n := 0; ; n++ {
			data, err := v.store.FileChunk(v.ctx, blob.WorkspaceID, blob.ID, n)
			if parley.ErrorCode(err) == parley.CodeNotFound {
				break
			}
			if err != nil {
				return err
			}
			v.step.Checked++
			sum.Write(data)
			if read += int64(len(data)); len(data) < parley.FileChunkBytes {
				break
			}
		}
		again, err := v.store.StoredBlobs(v.ctx, v.place.ID, 1) // the file may have been deleted meanwhile
		if err != nil {
			return err
		}
		if (read != blob.Size || parley.Hash(sum.Sum(nil)) != blob.Hash) && len(again) > 0 && again[0] == blob {
			v.find(
				parley.VerifyFiles,
				"bytes "+blob.ID.String(),
				doFile,
				"the %d bytes of a file with the hash %s were changed, or some of them are missing",
				blob.Size,
				blob.Hash,
			)
		}
		size += read + 1
		v.place = parley.VerifyPlace{Stage: parley.VerifyFiles, ID: blob.ID}
	}
	return nil
}

func (v *verification) chain() error {
	links, err := v.store.LinkRows(v.ctx, v.place.Number, parley.VerifyLinks)
	if err != nil {
		return err
	}
	if len(links) == 0 {
		if v.anchor != nil && v.anchor.Number > v.place.Number {
			v.find(
				parley.VerifyChain,
				fmt.Sprintf("link %d", v.place.Number+1),
				doAudit,
				"the audit's chain ends at link %d, but the anchor is of link %d: later links were removed",
				v.place.Number,
				v.anchor.Number,
			)
		}
		v.then(parley.VerifyAudit)
		return nil
	}
	for i := range links {
		v.step.Checked++
		if err := v.link(&links[i]); err != nil {
			return err
		}
	}
	return nil
}

// link checks one link against the previous one, its entry, and the heads that it names.
func (v *verification) link(k *store.LinkRow) error {
	where := fmt.Sprintf("link %d", k.Number)
	if k.Number != v.place.Number+1 {
		v.find(
			parley.VerifyChain,
			fmt.Sprintf("link %d", v.place.Number+1),
			doAudit,
			"the links %d to %d are missing",
			v.place.Number+1,
			k.Number-1,
		)
	}
	changed := k.Number == v.place.Number+1 && parley.LinkHash(v.place.Hash, &k.AuditLink, k.Entry) != k.Hash
	switch {
	case !k.EntryID.IsZero() && k.Entry == nil:
		v.find(
			parley.VerifyChain,
			"entry "+k.EntryID.String(),
			doAudit,
			"the audit's entry of %s, link %d, is missing: it was removed, or its time, id or workspace was changed",
			k.EntryAt,
			k.Number,
		)
	case changed && k.Entry != nil:
		v.find(
			parley.VerifyChain,
			"entry "+k.EntryID.String(),
			doAudit,
			"the audit's entry of %s is not what link %d says: it was changed (who, what, session, target or "+
				"request), or the link was",
			k.EntryAt,
			k.Number,
		)
	case changed:
		v.find(
			parley.VerifyChain,
			where,
			doAudit,
			"the link is not what its hash says: it was changed, or the one before it",
		)
	}
	v.place.Number, v.place.Hash = k.Number, k.Hash
	if v.anchor != nil && v.anchor.Number == k.Number && v.anchor.Hash != k.Hash {
		v.find(parley.VerifyChain, where, doAudit, "the anchor has another hash for this link: the chain was rebuilt")
	}
	if len(k.Heads) == 0 {
		return nil
	}
	found, err := v.store.HeadsFound(v.ctx, k.Heads)
	if err != nil {
		return err
	}
	for i, f := range found {
		h := &k.Heads[i]
		session := "session " + h.SessionID.String()
		switch {
		case f.Deleted && !f.Explained:
			v.unexplained(session, k)
		case h.Sequence == 0 || f.Deleted:
		case !f.There:
			v.find(
				parley.VerifyChain,
				session,
				doRecord,
				"the session is missing and was not deleted by Parley; link %d says that it had %d messages on %s",
				k.Number,
				h.Sequence,
				k.LinkedAt,
			)
		case f.Hash.IsZero():
			v.find(
				parley.VerifyChain,
				session,
				doRecord,
				"message %d is missing; link %d says that it existed on %s: the end of the record was removed",
				h.Sequence,
				k.Number,
				k.LinkedAt,
			)
		case f.Hash != h.Hash:
			v.find(
				parley.VerifyChain,
				session,
				doRecord,
				"message %d does not have the hash that link %d recorded on %s: the record was rebuilt",
				h.Sequence,
				k.Number,
				k.LinkedAt,
			)
		}
	}
	return nil
}

// unexplained reports, once per step, a session marked as deleted without the audit entry that every deletion by Parley
// leaves.
func (v *verification) unexplained(session string, k *store.LinkRow) {
	if v.told == nil {
		v.told = map[string]bool{}
	}
	if !v.told[session] {
		v.told[session] = true
		v.find(
			parley.VerifyChain,
			session,
			doRecord,
			"the session is marked as deleted, and no entry of the audit says by whom; link %d of %s names it: it "+
				"was not deleted by Parley",
			k.Number,
			k.LinkedAt,
		)
	}
}

func (v *verification) audit() error {
	keys, err := v.store.AuditKeys(
		v.ctx,
		store.AuditKey{WorkspaceID: v.place.WorkspaceID, At: v.place.At, ID: v.place.ID},
		parley.VerifyEntries,
	)
	if err != nil {
		return err
	}
	for i := range keys {
		if v.step.Checked++; keys[i].Loose {
			v.find(
				parley.VerifyAudit,
				"entry "+keys[i].ID.String(),
				doAudit,
				"the audit's entry of %s is not linked: Parley did not write it",
				keys[i].At,
			)
		}
	}
	if len(keys) < parley.VerifyEntries {
		v.then(parley.VerifyDone)
		return nil
	}
	last := keys[len(keys)-1]
	v.place = parley.VerifyPlace{Stage: parley.VerifyAudit, WorkspaceID: last.WorkspaceID, At: last.At, ID: last.ID}
	return nil
}
