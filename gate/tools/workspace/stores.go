package workspace

import (
	"strings"

	"callgate/internal/lazyregexp"
)

// The names of credential stores, wherever they lie.
var (
	stores = lazyregexp.New(`(?i)(?:^|[/\\~@=:"'\s,(<` + "`" + `])(?:\.ssh(?:[/\\][^\s"',;&|)]*)?|\.gnupg\b[^\s"',;]*|\.aws(?:[/\\][^\s"',;]*)?|\.azure(?:[/\\][^\s"',;]*)?|\.config[/\\](?:gcloud|gh|op|doctl|hub|rclone|google-chrome|chromium|BraveSoftware)\b[^\s"',;]*|\.kube(?:[/\\][^\s"',;]*)?|\.docker[/\\]config\.json|` +
		`\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.s3cfg|\.boto|\.git-credentials|\.vault-token|\.terraformrc|credentials\.tfrc\.json|\.password-store\b[^\s"',;]*|\.cargo[/\\]credentials(?:\.toml)?|\.gem[/\\]credentials|\.m2[/\\]settings\.xml|` +
		`Library[/\\]Keychains\b[^\s"',;]*|\.local[/\\]share[/\\]keyrings\b[^\s"',;]*|\.mozilla\b[^\s"',;]*|(?:Login Data|logins\.json|key4\.db|wallet\.dat)|\.(?:bitcoin|ethereum|electrum|solana)\b[^\s"',;]*|\.(?:bash|zsh|python|psql|mysql)_history|` +
		`\.claude[/\\]\.credentials\.json|\.claude\.json|\.codex[/\\]auth\.json|\.gemini[/\\]oauth_creds\.json|etc[/\\](?:shadow|gshadow|sudoers)\b[^\s"',;]*|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[^\s"'@=:/\\]+\.tfstate|\.envrc|\.env(?:\.[\w.-]+)?)(?:$|["'\s,;)&|<>:` + "`" + `])`)
	publicFile = lazyregexp.New(`(?i)\.pub$|known_hosts|\.ssh[/\\]config$|authorized_keys$|\.env\.(?:[\w.]*\.)?(?:example|sample|template|dist|defaults?)$|\.(?:aws|kube)[/\\](?:cli|cache)\b|\.aws[/\\]config$`)
)

// CredentialStore returns the part of a text that names a file or folder where credentials are kept, or "".
func CredentialStore(text string) string {
	for _, at := range stores.FindAllStringIndex(text, 8) {
		name := strings.Trim(text[at[0]:at[1]], "`\"'=@:, (<>)&|;")
		if !publicFile.MatchString(name) {
			return name
		}
	}
	return ""
}
