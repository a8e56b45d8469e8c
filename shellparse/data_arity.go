package shellparse

// arities says how many words name a command, by the words it begins with; the longest row wins. Options
// are not counted. A program without a row is named by its first word.
var arities = arityTable(
	1, "cat ls grep rm cp mv mkdir chmod echo which tail head touch pwd wc whoami date uname env printenv cd "+
		"find sed awk sort uniq cut tr tee xargs diff curl wget tar zip unzip ssh scp rsync dd shutdown reboot "+
		"mkfs sh bash zsh",
	2, "git npm pnpm yarn bun docker podman nerdctl cargo kubectl oc pip pip3 pipx uv poetry pipenv pdm hatch "+
		"rye conda terraform tofu terragrunt systemctl service bunx npx uvx pnpx go make gmake just task rake "+
		"invoke mage ninja bazel mvn gradle ./gradlew ./mvnw gradlew mvnw ant sbt lein dotnet composer bundle "+
		"gem mix swift zig dart flutter rustup brew apt apt-get dnf yum apk pacman snap flatpak helm kustomize "+
		"argocd flux istioctl ansible-galaxy vagrant packer pulumi heroku fly flyctl vercel netlify wrangler "+
		"firebase railway supabase turbo nx lerna ng rails django-admin artisan svn hg jj gt glab hub tea bosh "+
		"nomad consul vault etcdctl systemd-analyze timedatectl loginctl hostnamectl networkctl resolvectl ip "+
		"tmux screen nix devbox mise asdf rtx pyenv rbenv nodenv deno coverage alembic flask hugo jekyll mkdocs "+
		"prisma sequelize knex expo eas fastlane xcodebuild xcrun adb fvm melos stack cabal opam rebar3 spin "+
		"wasm-pack wasmtime buf sqlc migrate goose dbt sops gpg openssl security launchctl defaults "+
		"softwareupdate diskutil pm2 forever",
	2, "python python2 python3 pypy3 node nodejs ruby perl php lua luajit Rscript julia tsx ts-node osascript groovy elixir",
	3, "npm run|npm run-script|npm exec|npm x|npm config|npm pkg|npm cache|yarn run|yarn workspace|yarn exec|"+
		"yarn dlx|pnpm run|pnpm exec|pnpm dlx|pnpm store|bun run|bun x|bun pm|docker compose|docker image|docker "+
		"container|docker volume|docker network|docker system|docker builder|docker buildx|docker context|docker "+
		"manifest|docker stack|docker service|docker exec|podman exec|podman compose|podman image|podman "+
		"container|git remote|git stash|git worktree|git submodule|git bisect|git config|git notes|git lfs|git "+
		"reflog|git sparse-checkout|git flow|git svn|git bundle|go run|go mod|go work|go tool|uv run|uv pip|uv "+
		"tool|uv python|poetry run|pipenv run|pdm run|hatch run|rye run|bundle exec|mise exec|mise run|asdf exec|"+
		"rbenv exec|pyenv exec|cargo nextest|cargo llvm-cov|kubectl rollout|kubectl config|kubectl auth|kubectl "+
		"top|kubectl exec|oc rollout|helm repo|helm dependency|helm get|helm show|terraform state|terraform "+
		"workspace|terraform providers|gh pr|gh issue|gh run|gh repo|gh release|gh workflow|gh api|gh auth|brew "+
		"services|rustup toolchain|rustup component|rustup target|dotnet tool|dotnet nuget|dotnet ef|deno run|"+
		"deno task|python manage.py|python3 manage.py|php artisan|rails db|systemctl --user|conda run|conda env|nix flake|nix profile|composer run|"+
		"composer run-script|yarn workspaces",
	3, "aws gh az doctl linode-cli hcloud",
	4, "gcloud|docker compose exec|docker compose run|aws s3api|npm run --workspace",
)

// exactOnly are commands of which only the very same text is offered: what else their words could say destroys,
// sends out, runs or installs something, or prints a secret. Shells, and languages whose program no word names,
// belong to them too.
var exactOnly = set("rm rmdir unlink shred wipe mv chmod chown chgrp chattr setfacl dd mkfs fdisk parted truncate fallocate " +
	"ln kill killall pkill install rsync scp sftp ssh wget mount umount systemctl service launchctl shutdown " +
	"reboot crontab useradd userdel usermod passwd iptables ufw sysctl modprobe tar unzip zip gzip gunzip " +
	"gpg openssl mysql psql mariadb sqlite3 redis-cli mongo mongosh duckdb patch trash srm at batch cd pushd " +
	"popd source . export unset set shopt ulimit umask alias history read exec trap wait docker-compose tee " +
	"truncate apt apt-get dnf yum apk pacman snap flatpak brew gem helm vercel netlify heroku fly flyctl " +
	"firebase wrangler printenv dropdb createdb pg_restore psql ssh-keygen ssh-add security defaults adb " +
	"java javaw jrunscript jbang scala-cli kotlinc-jvm dotnet-script csi fsi ipython ipython3 bpython ptpython xonsh " +
	"jupyter marimo streamlit m4 dc ed ex expect runhaskell runghc stack-runghc ghci irb pry sqlplus mysqlsh cqlsh " +
	"clickhouse-client influx pwsh powershell cmd wine manage.py run-parts ld.so ssh-agent " +
	"cpan cpanm cpanp luarocks nvm sdk easy_install pecl pear port nix-env guix zypper emerge pamac yay paru choco " +
	"scoop winget opkg pkg pkgin vcpkg conan spack pearl tlmgr raco opam mamba micromamba krew " +
	"pass gopass op vault bao bw rbw lpass keepassxc-cli secret-tool keyring kwallet-query pinentry age sops " +
	"credstash berglas chamber doppler infisical envchain aws-vault passage ykman step wg tailscale")

// exactTwo are the same with their subcommand.
var exactTwo = split2("npm install|npm i|npm add|npm ci|npm update|npm uninstall|npm link|npm rebuild|npm exec|npm config|npm " +
	"pkg|npm cache|npm audit|yarn add|yarn install|yarn remove|yarn upgrade|pnpm add|pnpm install|pnpm i|" +
	"pnpm remove|pnpm update|bun add|bun install|bun i|bun remove|pip install|pip3 install|pip uninstall|" +
	"pip3 uninstall|pip download|uv add|uv sync|uv remove|uv pip|uv tool|poetry add|poetry install|poetry " +
	"remove|pipenv install|pdm add|conda install|cargo install|cargo add|cargo update|cargo remove|go " +
	"install|go get|go mod|go env|go clean|composer require|composer install|composer update|bundle install|" +
	"bundle update|bundle add|dotnet add|dotnet tool|docker compose down|docker exec|docker cp|docker push|" +
	"docker pull|docker rm|docker rmi|docker stop|docker kill|docker start|docker restart|docker login|" +
	"docker load|docker import|docker save|docker export|docker commit|docker tag|docker build|podman exec|" +
	"podman rm|podman rmi|podman push|docker compose rm|docker compose exec|docker compose run|docker " +
	"compose cp|kubectl exec|kubectl cp|git clean|git reset|git restore|git rm|git mv|git config|git remote|" +
	"git submodule|git worktree|git filter-branch|git update-ref|git gc|git prune|git clone|git branch|git " +
	"tag|git stash|git checkout|git rebase|gh api|gh repo|gh release|gh auth|gh secret|terraform init|" +
	"terraform state|rustup toolchain|cargo fix|mise exec|aws s3api|swift package|nix run|deno run|zig run|" +
	"crystal run|crystal eval|nim r|nim c|nim e|v run|dart run|swift run|dotnet fsi|dotnet exec|dotnet script|mix run|mix eval|" +
	"mix archive.install|mix escript.install|mix local.hex|elixir -e|rails runner|rails r|rails console|rails c|" +
	"rails dbconsole|rails destroy|php artisan tinker|flask shell|django-admin shell|django-admin dbshell|" +
	"python manage.py shell|python3 manage.py shell|python manage.py dbshell|python3 manage.py dbshell|" +
	"python manage.py flush|python3 manage.py flush|python manage.py runscript|python3 manage.py runscript|" +
	"pyenv install|pyenv global|rbenv install|nodenv install|asdf install|asdf plugin|mise install|mise use|rtx " +
	"install|volta install|fvm install|pipx install|pipx inject|pipx upgrade|pipx runpip|rye add|rye install|rye " +
	"sync|pdm update|pdm remove|poetry update|poetry self|poetry source|pip3 download|pip config|pip3 config|pip " +
	"cache|hatch env|conda create|conda update|conda remove|conda env|conda config|yarn dlx|yarn set|yarn config|yarn plugin|npm " +
	"set|npm token|npm login|npm init|npm create|pnpm config|pnpm store|bun upgrade|bun update|bun create|deno " +
	"install|deno upgrade|cabal install|stack install|rustup component|rustup target|rustup default|" +
	"cargo binstall|cargo login|cargo publish|dart pub|flutter pub|flutter upgrade|gh extension|gh alias|gh config|kubectl krew|kubectl " +
	"config|oc login|kubectl proxy|kubectl port-forward|docker secret|docker swarm|gcloud auth|gcloud secrets|gcloud config|aws configure|aws " +
	"secretsmanager|aws ssm|aws kms|aws iam|az account|az keyvault|az login|git credential|git bisect|git " +
	"replace|consul kv|nomad var|tmux send-keys|pre-commit install|pre-commit autoupdate")

// destructive are parts of the names of tasks that a rule for any words should not cover.
var destructive = set("rm remove drop destroy purge delete wipe nuke reset prune truncate rollback uninstall deploy publish release " +
	"erase clobber teardown shell console eval exec tinker seed restore dump secrets secret credentials token")
