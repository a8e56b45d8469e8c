// Package permissions reads rules and grants, and evaluates them for one subject.
//
// Rules come in two layers: an agent profile's, and the worker's permissions.jsonc. A deny of the profile is final.
// Otherwise both are one list in which the last rule that matches wins, and no match means ask. Grants are what people
// answered "always" to: they release an ask, never a deny or a confirm, and never above their risk. Evaluate holds that
// order; it is pure. Package store keeps the file.
//
// The package knows no calls, sessions or people. To decide about a call, the caller combines the findings of its
// subjects: the strictest counts.
package permissions
