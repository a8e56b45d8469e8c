package tools

import "callgate/permissions"

// Short names for the table below.
const (
	readOnly    = permissions.ReadOnly
	buildTest   = permissions.BuildTest
	write       = permissions.Write
	network     = permissions.Network
	unknown     = permissions.Unknown
	destructive = permissions.Destructive
	escalation  = permissions.Escalation
)

// row says what commands that begin with certain words may do.
type row struct {
	// words are the program and its sub-commands. Alternatives of one word are separated by "|"; a word
	// that ends in "*" is a prefix.
	words string
	risk  permissions.Risk
	// worse lists what makes the command worse, to the risk in to: "-f" (alone or in a bundle), "--force"
	// (also abbreviated, also with "=value"), "<operand>" (any word that is no option), other words with "*"
	// at either end for anything. unless lists words that make "<operand>" harmless. "<second>" says that there are two operands at least,
	// beside one of the other words, if there are any.
	worse  string
	to     permissions.Risk
	unless string
	sends  bool // data goes out to another machine by what the command is for
}

// valueOptions are options before the sub-command that take the next word as their value.
var valueOptions = map[string]map[string]bool{
	"git":            wordSet("-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix"),
	"docker":         wordSet("--context -c -H --host --config -l --log-level"),
	"docker compose": wordSet("-f --file -p --project-name --profile --project-directory --env-file --ansi"),
	"kubectl":        wordSet("-n --namespace --context --cluster --user --kubeconfig -s --server --request-timeout -v"),
	"helm":           wordSet("-n --namespace --kube-context --kubeconfig"),
	"npm":            wordSet("--prefix -w --workspace -C"),
	"pnpm":           wordSet("-C --dir -F --filter"),
	"yarn":           wordSet("--cwd"),
	"go":             wordSet("-C"),
	"make":           wordSet("-C -f -I -j -o -W --directory --file --makefile"),
	"cargo":          wordSet("--config --manifest-path -Z --color -C"),
	"aws":            wordSet("--profile --region --output --endpoint-url --query"),
	"gcloud":         wordSet("--project --account --configuration --format"),
	"az":             wordSet("--subscription --output -o --query"),
	"mvn":            wordSet("-f --file -P -pl -s -T"),
	"gradle":         wordSet("-p -b -c -I -g"),
	"gh":             wordSet("-R --repo"),
	"python":         wordSet("-W -X"),
	"uv":             wordSet("--directory --project"),
}

// sameAs lists programs that are judged like another.
var sameAs = map[string]string{
	"python3": "python", "py": "python", "python3.10": "python", "python3.11": "python", "python3.12": "python", "python3.13": "python", "python3.14": "python",
	"docker-compose": "docker compose", "bunx": "npx", "pnpx": "npx", "zsh": "bash", "sh": "bash", "dash": "bash", "ksh": "bash", "fish": "bash",
	"hub": "gh", "glab": "gh", "dcfldd": "dd",
}

// rows is what is known of programs, grouped by subject. A program or sub-command that is missing is
// UNKNOWN. More rows for the same words add further reasons to be worse.
var rows = []row{
	// The shell itself.
	{words: "cd|pushd|popd|dirs|pwd|echo|printf|true|false|:|test|[|[[|((|sleep|wait|exit|return|break|continue|shift|getopts", risk: readOnly},
	{words: "read|readonly|local|declare|typeset|export|unset|let|shopt|umask|ulimit|hash|type|jobs|fg|bg|disown|times|trap|mapfile|readarray", risk: readOnly},
	{words: "set", risk: readOnly, worse: "<bare>", to: unknown}, // alone it shows every variable
	{words: "env", risk: unknown},
	{words: "printenv", risk: readOnly, worse: "<bare>", to: unknown},
	{words: "history", risk: readOnly, worse: "-c -d -w -a -s -r -n", to: write},
	{words: "alias|unalias|command|builtin|bind|enable|complete|compgen", risk: unknown},

	// Looking at files and text.
	{words: "ls|dir|vdir|cat|tac|head|tail|wc|nl|cut|tr|paste|join|fold|fmt|column|expand|unexpand|rev|comm|cmp|diff|sdiff|diff3|colordiff", risk: readOnly},
	{words: "grep|rg|ag|ack|zgrep|zcat|bzcat|xzcat|zless|strings|od|hexdump|file|stat|du|df|tree|locate|fd|look|shuf|tsort|numfmt|seq|yes", risk: readOnly},
	{words: "sort|uniq|tee|xxd|base64|base32|basenc|iconv", risk: readOnly}, // the files they write are subjects of their own
	{words: "find", risk: readOnly, worse: "-delete", to: destructive},
	{words: "find", risk: readOnly, worse: "-fprint -fprint0 -fprintf -fls", to: write},
	{words: "sed", risk: readOnly, worse: "-i --in-place", to: write},
	{words: "awk|jq|gojq", risk: readOnly}, // their programs are read by shellparse
	{words: "yq", risk: readOnly, worse: "-i --inplace", to: write},
	{words: "xmllint", risk: readOnly, worse: "*://* --noent --loaddtd --valid --postvalid --dtdattr --xinclude --noxincludenode --shell", to: unknown},
	{words: "csvcut|csvlook|csvstat", risk: readOnly},
	{words: "xq|tomlq|mlr|fx|fzf|jless|gron|glow|delta|cloc|tldr", risk: unknown}, // they run code, load pages, or start programs
	{words: "less|more|most|bat|eza|exa|lsd|man|info|apropos|whatis|help|tokei|scc", risk: readOnly},
	{words: "md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|shasum|b2sum|cksum|sum|md5", risk: readOnly},
	{words: "basename|dirname|realpath|readlink|pathchk|mktemp|expr|bc|factor|getconf|locale|tput|tty|clear|cal|ncal", risk: readOnly},
	{words: "which|whereis|whoami|id|groups|users|who|w|last|uptime|uname|arch|nproc|free|vmstat|iostat|ps|pgrep|pstree|top|htop|lsof|ss|netstat", risk: readOnly},
	{words: "lscpu|lsblk|lsusb|lspci|lsmod|dmesg|sw_vers|system_profiler|ipcs|logname", risk: readOnly},
	{words: "getent", risk: readOnly, worse: "hosts ahosts* networks netgroup -s --service", to: unknown}, // asks servers
	{words: "date", risk: readOnly, worse: "-s --set", to: unknown},
	{words: "hostname", risk: readOnly, worse: "<operand> -F --file", to: unknown},
	{words: "journalctl", risk: readOnly, worse: "--rotate --vacuum-size --vacuum-time --vacuum-files --flush", to: destructive},

	// Changing files.
	{words: "dos2unix|unix2dos|mkdir|touch|cp|mv|ln|install|patch|split|csplit|rename|mkfifo|gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd|unzstd|zip|chgrp|chown|rmdir", risk: write},
	{words: "chmod", risk: write, worse: "*+s* *+*s 4??? 2??? 6??? 7??? u=*s* g=*s*", to: escalation},
	{words: "tar", risk: write, worse: "--remove-files", to: destructive},
	{words: "unzip", risk: write},
	{words: "rm|unlink|shred|srm|truncate|dd|wipe", risk: destructive},
	{words: "mkfs*|fdisk|sfdisk|parted|wipefs|mkswap|swapoff|cryptsetup|losetup|badblocks|blkdiscard", risk: destructive},

	// Processes and the system.
	{words: "kill|pkill|killall|fuser|skill|xkill", risk: destructive},
	{words: "shutdown|reboot|halt|poweroff|init|telinit", risk: destructive},
	{words: "systemctl status|is-active|is-enabled|is-failed|list-units|list-unit-files|list-timers|show|cat", risk: readOnly},
	{words: "systemctl stop|disable|mask|kill|isolate|poweroff|reboot|halt", risk: destructive},
	{words: "crontab", risk: unknown, worse: "-r", to: destructive},
	{words: "sudo|doas|su|pkexec|runuser|sudoedit|visudo|chroot|nsenter|setcap|usermod|useradd|userdel|adduser|groupadd|passwd|chpasswd|chsh|insmod|modprobe|mount|umount", risk: escalation},

	// git.
	{words: "git", risk: readOnly}, // alone it shows its help
	{words: "git status|log|diff|show|blame|annotate|grep|ls-files|ls-tree|cat-file|rev-parse|rev-list|describe|shortlog|name-rev|merge-base", risk: readOnly},
	{words: "git for-each-ref|show-ref|show-branch|whatchanged|count-objects|var|version|help|check-ignore|check-attr|check-ref-format", risk: readOnly},
	{words: "git diff-tree|diff-index|diff-files|verify-commit|verify-tag|cherry|range-diff|fsck|request-pull|get-tar-commit-id|patch-id|stripspace", risk: readOnly},
	{words: "git add|commit|mv|merge|rebase|cherry-pick|revert|am|notes|init|update-index|update-ref|gc|repack|maintenance|sparse-checkout|format-patch|archive", risk: write},
	{words: "git gc", risk: write, worse: "--prune", to: destructive},
	{words: "git update-ref", risk: write, worse: "-d", to: destructive},
	{words: "git apply", risk: write, worse: "--unsafe-paths", to: unknown},
	{words: "git branch", risk: readOnly, worse: "<operand> --set-upstream-to -u --unset-upstream --edit-description", to: write,
		unless: "--list -l --contains --no-contains --merged --no-merged --points-at -a --all -r --remotes -v -vv --sort --format --show-current"},
	{words: "git branch", risk: readOnly, worse: "-d -D --delete -m -M --move -f --force -C", to: destructive},
	{words: "git tag", risk: readOnly, worse: "<operand> -a -s -m -F --annotate --sign --message", to: write, unless: "-l --list -n --contains --no-contains --merged --points-at --sort -v --verify"},
	{words: "git tag", risk: readOnly, worse: "-d --delete -f --force", to: destructive},
	{words: "git switch", risk: write, worse: "-f --force --discard-changes -C --force-create", to: destructive},
	{words: "git checkout", risk: write, worse: "-f --force -B -- . -p --patch --ours --theirs", to: destructive},
	{words: "git restore", risk: write, worse: "<operand>", to: destructive, unless: "--staged -S"}, // which only unstages
	{words: "git restore", risk: write, worse: "-W --worktree -p --patch --pathspec-from-file --ours --theirs -m --merge --overlay", to: destructive},
	{words: "git send-email", risk: destructive},
	{words: "git reset", risk: write, worse: "--hard --merge --keep", to: destructive},
	{words: "git clean", risk: destructive},
	{words: "git rm", risk: destructive},
	{words: "git stash", risk: write},
	{words: "git stash list|show", risk: readOnly},
	{words: "git stash push|save|pop|apply|branch|create|store", risk: write},
	{words: "git stash drop|clear", risk: destructive},
	{words: "git reflog", risk: readOnly},
	{words: "git reflog show|exists", risk: readOnly},
	{words: "git reflog expire|delete", risk: destructive},
	{words: "git worktree list", risk: readOnly},
	{words: "git worktree add|move|lock|unlock|repair", risk: write},
	{words: "git worktree remove|prune", risk: destructive},
	{words: "git prune|prune-packed|filter-branch|filter-repo|replace|fast-import", risk: destructive},
	{words: "git remote", risk: readOnly},
	{words: "git remote show", risk: network},
	{words: "git remote get-url", risk: readOnly},
	{words: "git remote add|rename|set-url|set-head|set-branches|remove|rm", risk: unknown}, // where pushes go
	{words: "git remote update|prune", risk: network},
	{words: "git fetch|pull|clone|ls-remote", risk: network},
	{words: "git lfs|svn|p4", risk: network, sends: true},
	{words: "git pull", risk: network, worse: "-f --force", to: destructive},
	{words: "git fetch", risk: network, worse: "-f --force -p --prune +*", to: destructive},
	{words: "git push", risk: network, worse: "-f --force --force-with-lease --force-if-includes --mirror --delete -d --prune +* :*", to: destructive, sends: true},
	{words: "git submodule", risk: readOnly},
	{words: "git submodule status|summary", risk: readOnly},
	{words: "git submodule add|update|init|sync|set-url|set-branch|absorbgitdirs", risk: network},
	{words: "git submodule deinit", risk: destructive},
	{words: "git bisect", risk: write, worse: "run", to: unknown},
	{words: "git symbolic-ref", risk: readOnly, worse: "-d --delete", to: write},
	{words: "git config", risk: readOnly, worse: "<second>", to: write},
	{words: "git config", risk: readOnly, worse: "--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit", to: write},
	{words: "git config", risk: readOnly, worse: "<second> *core.* *alias.* *helper* *command* *cmd* *pager* *filter.* *diff.* *merge.* *url.* *include* *hooks* *editor* *program* *proxy* *ssh*", to: unknown},
	{words: "git config get|list", risk: readOnly},
	{words: "git config --get|--get-all|--get-regexp|--list|-l", risk: readOnly},

	// Build and test tools: they run the project's own code.
	{words: "make|just|task", risk: buildTest},
	{words: "ninja|meson|bazel|bazelisk|buck2|pants|scons|tox|nox|ctest|invoke", risk: buildTest},
	{words: "cmake", risk: buildTest, worse: "-E -P --install", to: unknown},
	{words: "pytest|py.test|jest|vitest|mocha|ava|karma|cypress|tsc|tsd|phpunit|pest|rspec|minitest|busted|bats|gotestsum|nextest|unittest", risk: buildTest},
	{words: "eslint|tslint|stylelint|biome|oxlint|standard|xo|prettier|ruff|black|isort|autopep8|yapf|rubocop|rustfmt|clang-format|gofumpt|goimports|dprint", risk: buildTest,
		worse: "--fix --write -w --apply --in-place -i -a --autocorrect", to: write},
	{words: "ruff format|clean", risk: write},
	{words: "black|isort|autopep8|yapf|rustfmt", risk: write},
	{words: "gofmt", risk: readOnly, worse: "-w", to: write},
	{words: "mypy|pyright|basedpyright|pylint|flake8|bandit|vulture|shellcheck|shfmt|hadolint|yamllint|markdownlint|markdownlint-cli2|actionlint|staticcheck|golangci-lint|govulncheck|clippy-driver|cppcheck|clang-tidy|svelte-check|vue-tsc|checkov|tflint|vale|typos|codespell|semgrep", risk: buildTest,
		worse: "--fix -w --write -i --write-changes", to: write},
	{words: "gcc|g++|cc|c++|clang|clang++|rustc|javac|kotlinc|scalac|ghc|ocamlc|swiftc|nasm|ld|ar|protoc|esbuild|webpack|rollup|vite|parcel|swc|babel|turbo|nx|lerna", risk: buildTest},
	{words: "sphinx-build|mkdocs|hugo|jekyll|mdbook|typedoc|jsdoc|doxygen", risk: buildTest},
	{words: "lerna exec", risk: unknown},
	{words: "nx exec", risk: unknown},
	{words: "mkdocs gh-deploy", risk: network, sends: true},

	{words: "go vet|build|test", risk: buildTest, worse: "-mod=mod --mod=mod", to: network},
	{words: "go version|help", risk: readOnly},
	{words: "go list|doc", risk: readOnly, worse: "-u --u -versions --versions -retracted --retracted -mod=mod --mod=mod -http --http", to: network},
	{words: "go env", risk: readOnly, worse: "-w -u", to: unknown},
	{words: "go fmt|fix|clean|work", risk: write},
	{words: "go mod tidy|download|verify|vendor|init|edit|graph|why", risk: network},
	{words: "go mod graph|why|verify", risk: readOnly, worse: "-m --m -mod=mod", to: network},
	{words: "go mod init|edit|vendor", risk: write},
	{words: "go get", risk: network},
	{words: "go run|generate|install|tool", risk: unknown},
	{words: "go tool cover|nm|objdump|addr2line", risk: readOnly},

	{words: "cargo build|b|check|c|test|t|clippy|doc|bench|nextest", risk: buildTest},
	{words: "cargo clippy", risk: buildTest, worse: "--fix", to: write},
	{words: "cargo fmt|fix|clean|init|new|remove", risk: write},
	{words: "cargo metadata|tree|version|help|locate-project|pkgid|read-manifest|verify-project", risk: readOnly},
	{words: "cargo add|update|fetch|search|audit|deny|outdated|vendor|generate-lockfile|info", risk: network},
	{words: "cargo install|run|r|xtask|script", risk: unknown},
	{words: "cargo publish|yank|owner|login|logout", risk: destructive},
	{words: "rustup show|which", risk: readOnly},

	{words: "npm test|t|tst", risk: buildTest},
	{words: "npm run|run-script", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "npm ls|list|ll|la|root|prefix|bin|help|why|explain|query", risk: readOnly},
	{words: "npm fund", risk: readOnly, worse: "<operand> --browser", to: unknown}, // opens a page
	{words: "npm pkg", risk: unknown},
	{words: "npm|pnpm config|c get|list|ls", risk: readOnly},
	{words: "yarn config get|list", risk: readOnly},
	{words: "npm|pnpm get", risk: readOnly},
	{words: "npm pkg get", risk: readOnly},
	{words: "npm view|info|show|v|search|outdated|audit|ping|doctor|whoami", risk: network},
	{words: "npm audit", risk: network, worse: "fix", to: unknown},
	{words: "npm ci|clean-install", risk: network},
	{words: "npm install|i|add|update|up|upgrade|dedupe|ddp", risk: network, worse: "<operand>", to: unknown},
	{words: "npm uninstall|un|remove|rm|r|prune|version|init|rebuild|link|unlink|shrinkwrap|pack", risk: write},
	{words: "npm publish|unpublish|deprecate|dist-tag|owner|access", risk: destructive},
	{words: "yarn", risk: network},
	{words: "yarn|pnpm test|build|lint|typecheck|type-check|check|format|coverage|e2e|dev|start", risk: buildTest},
	{words: "yarn install", risk: network},
	{words: "yarn run", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "yarn list|why|licenses|versions", risk: readOnly},
	{words: "yarn info", risk: network},
	{words: "yarn add|up|upgrade|upgrade-interactive", risk: unknown},
	{words: "yarn remove|unlink|link|version|dedupe", risk: write},
	{words: "yarn publish|npm", risk: destructive},
	{words: "pnpm test|t", risk: buildTest},
	{words: "pnpm install|i|fetch", risk: network, worse: "<operand>", to: unknown},
	{words: "pnpm run", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "pnpm list|ls|ll|la|why|root|outdated", risk: readOnly},
	{words: "pnpm add|update|up|upgrade", risk: unknown},
	{words: "pnpm remove|rm|uninstall|prune|link|unlink|store|version", risk: write},
	{words: "pnpm publish", risk: destructive},
	{words: "bun test|build", risk: buildTest},
	{words: "bun install|i", risk: network, worse: "<operand>", to: unknown},
	{words: "bun run", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "bun pm", risk: unknown},
	{words: "bun pm ls|list|bin|hash|hash-string|hash-print|whoami", risk: readOnly},
	{words: "bun remove|rm|link|unlink", risk: write},
	{words: "bun publish", risk: destructive},
	{words: "deno test|check|lint|bench|info|doc", risk: buildTest},
	{words: "deno fmt", risk: write},
	{words: "node --check|-c|--test", risk: buildTest},

	{words: "python -m pytest|unittest|mypy|pyright|pylint|flake8|doctest|compileall|py_compile|tox|nox|coverage|build", risk: buildTest},
	{words: "python -m json.tool|tokenize|dis|this|site", risk: readOnly},
	{words: "python -m venv|virtualenv|black|isort", risk: write},
	{words: "python -m pip list|show|freeze|check", risk: readOnly, worse: "-i --index-url --extra-index-url -f --find-links --python --log", to: unknown},
	{words: "python -m pip install|download|wheel", risk: network, worse: "<operand> -i --index-url --extra-index-url --pre", to: unknown},
	{words: "coverage report|html|xml|json|run|combine", risk: buildTest},
	{words: "pip list|show|freeze|check|help", risk: readOnly},
	{words: "pip debug|config", risk: unknown},
	{words: "pip install|download|wheel", risk: network, worse: "<operand> -i --index-url --extra-index-url --pre", to: unknown, unless: "-r --requirement"},
	{words: "pip uninstall|cache", risk: write},
	{words: "pip search|index", risk: network},
	{words: "uv sync|lock|tree|export|venv|build", risk: network},
	{words: "uv pip list|show|freeze|check|tree", risk: readOnly},
	{words: "uv add|remove|pip|tool|run", risk: unknown},
	{words: "poetry check|show|about", risk: readOnly},
	{words: "poetry version", risk: readOnly, worse: "<operand>", to: write},
	{words: "poetry env info|list", risk: readOnly},
	{words: "poetry install|lock|update|build", risk: network},
	{words: "pipenv install|sync|lock|graph|check", risk: network, worse: "<operand>", to: unknown},
	{words: "conda list|info", risk: readOnly},
	{words: "conda env list|export", risk: readOnly},
	{words: "conda search", risk: network},

	{words: "mvn|gradle", risk: buildTest},
	{words: "playwright test", risk: buildTest},
	{words: "bundle exec rspec|rubocop", risk: buildTest},
	{words: "nm|objdump|readelf|size", risk: readOnly},
	{words: "ant|sbt|lein|mill", risk: buildTest},
	{words: "dotnet build|test|restore|format|clean|pack|list|--info|--list-sdks", risk: buildTest},
	{words: "dotnet publish", risk: buildTest},
	{words: "dotnet add|remove|new|sln", risk: network},
	{words: "swift build|test|package", risk: buildTest},
	{words: "xcodebuild|flutter|dart", risk: buildTest, worse: "run pub install", to: unknown},
	{words: "rake|mix|stack|cabal|dune|opam|zig|nim|crystal|elixir|gleam", risk: unknown},
	{words: "mix test|compile|format|credo|dialyzer", risk: buildTest},
	{words: "stack build|test", risk: buildTest},
	{words: "cabal build|test", risk: buildTest},
	{words: "zig build|test|fmt", risk: buildTest},
	{words: "bundle install|update|check|list|show|info|outdated", risk: network},
	{words: "composer install|update|validate|show|outdated|dump-autoload", risk: network},
	{words: "composer test|lint", risk: buildTest},

	// Interpreters run whatever they are given.
	{words: "python|node|ruby|perl|php|lua|Rscript|julia|java|osascript|tclsh|guile|racket|npx|bash|pwsh|powershell|source|.|eval|exec|ts-node|tsx", risk: unknown},

	// The network.
	{words: "curl", risk: network, worse: "DELETE -XDELETE --upload-file", to: destructive},
	{words: "wget|aria2c|http|https|xh|httpie|lynx|w3m|links|youtube-dl|yt-dlp", risk: network},
	{words: "ssh|scp|sftp|ftp|lftp|telnet|nc|ncat|netcat|socat|mosh|rclone|croc|magic-wormhole", risk: network, sends: true},
	{words: "rsync", risk: network, sends: true, worse: "--delete --delete-before --delete-after --delete-during --delete-excluded --remove-source-files", to: destructive},
	{words: "rclone delete|deletefile|purge|sync|move|moveto|rmdir|rmdirs|cleanup", risk: destructive},
	{words: "ping|ping6|dig|nslookup|host|whois|traceroute|tracepath|mtr|nmap|arp|drill", risk: network},
	{words: "ip", risk: unknown},
	{words: "ip a|addr|address|l|link|r|ro|route|rule|n|neigh", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "ip a|addr|address|l|link|r|ro|route|rule|n|neigh show|list|ls", risk: readOnly},
	{words: "ip r|ro|route get", risk: readOnly},
	{words: "ifconfig|route", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "openssl s_client", risk: network},
	{words: "openssl version|x509|dgst|rand|asn1parse", risk: readOnly},
	{words: "openssl req", risk: readOnly, worse: "-new* --new* -x509* --x509* -key* --key*", to: unknown},
	{words: "gpg|ssh-keygen|ssh-add|ssh-agent|security|pass|op|vault", risk: unknown},

	// Containers and clusters.
	{words: "docker ps|images|logs|inspect|version|info|top|stats|port|diff|history|events", risk: readOnly},
	{words: "docker search", risk: network},
	{words: "docker image|container|volume|network|context|system|builder|manifest|buildx", risk: unknown},
	{words: "docker image ls|inspect|history", risk: readOnly},
	{words: "docker container ls|inspect|logs|top|stats", risk: readOnly},
	{words: "docker volume ls|inspect", risk: readOnly},
	{words: "docker network ls|inspect", risk: readOnly},
	{words: "docker system df|info", risk: readOnly},
	{words: "docker image rm|prune", risk: destructive},
	{words: "docker container rm|prune|kill", risk: destructive},
	{words: "docker volume rm|prune", risk: destructive},
	{words: "docker network rm|prune", risk: destructive},
	{words: "docker system prune", risk: destructive},
	{words: "docker build|pull|logout", risk: network},
	{words: "docker push|login", risk: network, sends: true},
	{words: "docker run|exec|create|start", risk: unknown, worse: "--privileged --pid=host --cap-add --device --security-opt *docker.sock* --userns=host --net=host --network=host", to: escalation},
	{words: "docker run|exec|create|start", risk: unknown, worse: "/:* *=/:* -v/:*", to: destructive},
	{words: "docker restart|pause|unpause|rename|tag|cp|commit|save|load|export|import|update|wait", risk: write},
	{words: "docker stop|kill|rm|rmi|swarm|stack|service|node", risk: destructive},
	{words: "docker compose ps|ls|logs|config|images|top|version|port", risk: readOnly},
	{words: "docker compose build|pull", risk: network},
	{words: "docker compose push", risk: network, sends: true},
	{words: "docker compose up|run|exec|start|restart|create", risk: unknown},
	{words: "docker compose stop|down|rm|kill", risk: destructive},
	{words: "kubectl get|describe|logs|top|explain|version|api-resources|api-versions|cluster-info|diff|wait|events", risk: network,
		worse: "secret* secrets*", to: unknown},
	{words: "kubectl config current-context|get-contexts|get-clusters", risk: readOnly},
	{words: "kubectl config view", risk: readOnly, worse: "--raw", to: unknown},
	{words: "kubectl apply|create|edit|patch|scale|label|annotate|set|rollout|expose|autoscale|run|exec|cp|attach|port-forward|proxy|debug|taint|cordon|uncordon", risk: unknown},
	{words: "kubectl delete|drain|replace|evict", risk: destructive},
	{words: "helm list|ls|status|get|history|template|lint|show|search|version|repo|dependency", risk: network},
	{words: "helm uninstall|delete|rollback|un", risk: destructive},

	// Clouds and infrastructure.
	{words: "aws s3 ls", risk: network},
	{words: "aws s3 rm|rb|mv|sync", risk: destructive},
	{words: "aws s3 cp|mb|presign", risk: unknown},
	{words: "aws sts get-caller-identity", risk: network},
	{words: "aws secretsmanager|ssm|kms|iam", risk: unknown, worse: "delete-secret delete-parameter delete-user delete-role schedule-key-deletion", to: destructive},
	{words: "aws * describe-*|list-*|get-*|head-*|batch-get-*|lookup-*", risk: network, worse: "*password* *token*", to: unknown},
	{words: "aws * delete-*|terminate-*|remove-*|deregister-*|purge-*|stop-*|cancel-*|disable-*|destroy-*", risk: destructive},
	{words: "gcloud", risk: unknown, worse: "delete remove destroy reset purge", to: destructive},
	{words: "az", risk: unknown, worse: "delete remove purge destroy", to: destructive},
	{words: "heroku|flyctl|fly|vercel|netlify|railway|wrangler|firebase|doctl|linode-cli|oci|ibmcloud|pulumi|ansible|ansible-playbook|serverless|sls|cdk|sam|eb", risk: unknown,
		worse: "destroy delete remove rm rollback --force", to: destructive},
	{words: "terraform validate|show|output|version|graph", risk: readOnly},
	{words: "terraform providers", risk: readOnly, worse: "<operand>", to: unknown},
	{words: "terraform providers schema", risk: readOnly},
	{words: "terraform fmt", risk: write},
	{words: "terraform init|plan|get|refresh", risk: network},
	{words: "terraform state list|show|pull", risk: network},
	{words: "terraform apply|destroy|import|taint|untaint|force-unlock|state", risk: destructive},
	{words: "gh pr view|list|diff|checks|status", risk: network},
	{words: "gh issue view|list|status", risk: network},
	{words: "gh repo view|list|clone", risk: network},
	{words: "gh run view|list|watch|download", risk: network},
	{words: "gh release view|list|download", risk: network},
	{words: "gh workflow view|list", risk: network},
	{words: "gh search *", risk: network},
	{words: "gh pr checkout", risk: network},
	{words: "gh pr create|comment|edit|ready|review", risk: network, sends: true},
	{words: "gh issue create|comment|edit", risk: network, sends: true},
	{words: "gh status|browse", risk: network},
	{words: "gh auth status", risk: network, worse: "-t --show-token", to: unknown},
	{words: "aws configure get|list", risk: readOnly},
	{words: "gcloud auth list", risk: readOnly},
	{words: "gcloud config get|get-value|list", risk: readOnly},
	{words: "gh api", risk: network, worse: "-X -f -F --method --field --raw-field --input graphql", to: unknown},
	{words: "gh pr merge|close", risk: unknown},
	{words: "gh repo delete|archive|rename", risk: destructive},
	{words: "gh release delete|delete-asset", risk: destructive},
	{words: "gh run delete|cancel", risk: destructive},

	// Databases: where the statements are known they decide, and these rows say what the clients do without any.
	{words: "psql|usql|pgcli|mysql|mycli|sqlite3|litecli|duckdb|clickhouse-client|clickhouse-local|sqlcmd", risk: unknown},
	{words: "redis-cli|mongosh|mongo|cqlsh|influx", risk: unknown, worse: "*drop* *DROP* *delete* *flush* *FLUSH* FLUSHALL DEL *remove*", to: destructive},
	{words: "dropdb|mysqladmin|pg_restore", risk: destructive},
	{words: "pg_dump|mysqldump|pg_dumpall|pg_isready", risk: network},
	{words: "createdb", risk: write},

	// Package managers of the system.
	{words: "apt list|show|search|policy", risk: readOnly},
	{words: "apt-cache search|show|showpkg|policy|depends|rdepends|madison|stats|pkgnames|dotty|unmet|dump", risk: readOnly},
	{words: "dpkg-query", risk: readOnly},
	{words: "rpm", risk: unknown},
	{words: "rpm -q|--query|-qa|-qi|-ql|-qf|-qd|-qc|-qai|-qal|-qR|-V|-Va|--version", risk: readOnly, worse: "*://* --eval -E", to: unknown},
	{words: "dpkg -l|-L|-s|-S|--list|--status|--listfiles|--search", risk: readOnly},
	{words: "brew list|info|search|deps|outdated|config|doctor|--prefix|leaves", risk: network},
	{words: "apt|apt-get|dnf|yum|pacman|apk|zypper|snap|flatpak|port|choco|winget|scoop|nix|nix-env|nix-shell", risk: unknown},
	{words: "apt remove|purge|autoremove", risk: destructive},
	{words: "apt-get remove|purge|autoremove", risk: destructive},
}

// scriptNames are script and target names that build or test by custom; a name may continue after ":".
var scriptNames = wordSet(`build test tests check lint all compile typecheck type-check types tsc format fmt prettier eslint coverage cover unit
	e2e integration bench benchmark dev start serve watch verify validate ci vet docs doc help package assemble classes jar war
	clean bundle generate-docs spec style storybook preview smoke test-compile integration-test install-deps deps
	tasks dependencies projects properties dependency compileJava compileKotlin compileTestJava compileTestKotlin testClasses
	ktlintCheck detekt spotlessCheck checkstyleMain jacocoTestReport`)

// targetValues are options of runners of targets whose value is no target.
var targetValues = wordSet("--tests --configuration -x --exclude-task -pl --projects -P -T --threads --max-workers -j --jobs -l --load-average -C --directory -p -f --file")

// scriptRunners are sub-commands whose next word is a script of the project.
var scriptRunners = map[string]bool{"npm run": true, "npm run-script": true, "yarn run": true, "pnpm run": true, "bun run": true}

// targetRunners are programs whose every operand is a target of the project.
var targetRunners = wordSet("make just task mvn gradle rake")

// takeSQL are programs that send statements to a database, as arguments of some subcommand or option, or
// from their standard input.
var takeSQL = wordSet(`usql mysqlsh mycli pgcli litecli iredis sqlplus sqlcl isql osql snowsql snow trino presto presto-cli spark-sql hive beeline impala-shell clickhouse
	clickhouse-local cockroach turso libsql sqld pscale neonctl supabase heroku wrangler bq databricks dbt prisma drizzle-kit cqlsh influx psycopg
	pgbench edgeql gel rqlite sqlite sqlite3 sqlcipher db2 dbaccess vsql nzsql pdb2 mariadb psql mysql duckdb clickhouse-client sqlcmd sq dolt doltgres questdb crash xata d1 spanner-cli gsql cloudsqlproxy dbsh`)

// localDatabases are clients whose database is a file of this machine.
var localDatabases = wordSet("sqlite3 duckdb litecli")
