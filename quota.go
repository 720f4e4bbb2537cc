package parley

import "fmt"

// MaxQuota bounds a quota of sessions or of bytes.
const MaxQuota = 1 << 50

// Quota bounds how much a workspace may have, and how much of that one principal may have. 0: unlimited.
type Quota struct {
	Workspace int64
	Principal int64
}

// QuotaState is the state of a conflict caused by a quota.
type QuotaState string

// The quotas.
const (
	QuotaSessions QuotaState = "sessions_quota"
	QuotaStorage  QuotaState = "storage_quota"
)

// SessionsQuotaReached refuses a session beyond a quota of the workspace or of the principal.
func SessionsQuotaReached(ofPrincipal bool, most int64) error {
	whose, raise := "This workspace has", "ask the operator to raise max_sessions"
	if ofPrincipal {
		whose, raise = "This key owns", "ask an admin for a key with a larger max_sessions"
	}
	return Conflict(
		QuotaSessions,
		"%s %d sessions, as many as its quota allows. Delete some, or %s.",
		whose,
		most,
		raise,
	)
}

// StorageQuotaReached refuses bytes of a file or an artifact beyond a quota.
func StorageQuotaReached(ofPrincipal bool, most int64) error {
	whose, raise := "The files and artifacts of this workspace", "ask the operator to raise max_storage"
	if ofPrincipal {
		whose, raise = "The files and artifacts of this key", "ask an admin for a key with a larger max_storage"
	}
	return Conflict(
		QuotaStorage,
		"%s may hold %s in total, and this one would exceed that. Delete some, or %s.",
		whose,
		sizeText(most),
		raise,
	)
}

// Storage is the space used by files and artifacts, in bytes.
type Storage struct {
	Workspace int64 // of the workspace, including uploads under way; equal bytes count once
	Principal int64 // of one principal's uploads and artifacts
}

// Room refuses bytes that would exceed a quota when added to the workspace's and to the principal's.
func (s Storage) Room(quota Quota, toWorkspace, toPrincipal int64) error {
	switch {
	case quota.Workspace > 0 && s.Workspace+toWorkspace > quota.Workspace:
		return StorageQuotaReached(false, quota.Workspace)
	case quota.Principal > 0 && s.Principal+toPrincipal > quota.Principal:
		return StorageQuotaReached(true, quota.Principal)
	}
	return nil
}

// sizeText returns a number of bytes for people.
func sizeText(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := int64(1) << (40 - 10*i); bytes >= size && bytes%size == 0 {
			return fmt.Sprintf("%d %s", bytes/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
