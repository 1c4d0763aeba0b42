// Package docs holds the pages of this directory: those for people who read the repository, which the server
// also shows as text under /docs, and what the reference and the migration guide are made from.
//
// Its tests paste what the pages say to paste.
package docs

import "embed"

// Files are the pages, by name.
//
//go:embed *.md *.json *.html *.css
var Files embed.FS
