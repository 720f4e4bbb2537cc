package transition

import (
	"encoding/json"

	"example.org/parley"
)

// BlobBatch bounds the chunks that one transaction deletes.
const BlobBatch = 16

// file checks that the files a message names are there, and notes their use.
func (t *Tx) file(h *Head, messageID parley.ID, content json.RawMessage) error {
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

// refile is file for a message whose content was another one.
func (t *Tx) refile(h *Head, messageID parley.ID, before, content json.RawMessage) error {
	if err := t.file(h, messageID, content); err != nil {
		return err
	}
	if len(parley.FilesOf(before)) > 0 {
		h.Changes.Unfiled = append(h.Changes.Unfiled, messageID)
	}
	return nil
}

// FileUsed refuses the deletion of a file.
func FileUsed() error {
	return parley.Errorf(
		parley.CodeConflict,
		"a message uses this file; it goes with the last session that has such a message",
	)
}
