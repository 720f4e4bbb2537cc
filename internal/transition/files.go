package transition

import (
	"encoding/json"

	"example.org/parley"
)

// BlobBatch bounds how many chunks one transaction deletes.
const BlobBatch = 16

// useFiles checks that a message's files exist and records their use.
func (t *Tx) useFiles(h *Head, messageID parley.ID, content json.RawMessage) error {
	for _, id := range parley.FilesOf(content) {
		found, err := t.rows.HasFile(h.WorkspaceID, id)
		if err != nil {
			return err
		}
		if !found {
			return parley.Errorf(
				parley.CodeNotFound,
				"content.files: there is no file %s; upload it first (POST /v1/files)",
				id,
			)
		}
		h.Changes.Filed = append(h.Changes.Filed, FileUse{MessageID: messageID, FileID: id})
	}
	return nil
}

// replaceFiles is file for a message whose content changed.
func (t *Tx) replaceFiles(h *Head, messageID parley.ID, before, content json.RawMessage) error {
	if err := t.useFiles(h, messageID, content); err != nil {
		return err
	}
	if len(parley.FilesOf(before)) > 0 {
		h.Changes.Unfiled = append(h.Changes.Unfiled, messageID)
	}
	return nil
}

// FileUsed is the error for deleting a file in use.
func FileUsed() error {
	return parley.Errorf(
		parley.CodeConflict,
		"a message uses this file; it goes with the last session that has such a message",
	)
}
