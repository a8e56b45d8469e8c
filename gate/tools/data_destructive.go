package tools

// destruction says by which words programs do what nobody can take back: delete data, drop what runs, publish, send.
type destruction struct {
	// programs are names separated by blanks: the last element of a path, without a version behind "@". A script that an
	// interpreter is given, or a module of it, counts as a program: manage.py in "python manage.py flush".
	programs string
	// acts are alternatives separated by ";", each of terms separated by blanks that all hold:
	//
	//	db|database   words that stand in this order among those that are no options; "*" is any text
	//	--force       an option, also abbreviated; "-f" also within a bundle
	//	--replicas=0  an option with this value, attached or as the next word
	//	!--dry-run    none of the words is this
	//
	// Cases of letters count in options alone. An empty text holds always.
	acts string
	// why is what it does, as the end of a sentence that begins with "It".
	why string
}

// destructions is what is known of such programs. What they do beside that, rows says.
var destructions = []destruction{
	// Object mappers and migrations.
	{"prisma prisma1 zenstack", "migrate reset; db push --accept-data-loss|--force-reset; db execute; migrate resolve --rolled-back; reset; delete", "drops or overwrites tables of the database"},
	{"drizzle-kit", "drop; push --force; push:* --force; migrate:* --force", "drops or overwrites tables of the database"},
	{"rails rake", "db:drop*; db:reset*; db:purge*; db:truncate*; db:rollback*; db:setup; db:schema:load*; db:structure:load; db:seed:replant; db:fixtures:load; " +
		"db:migrate:reset; db:migrate:down; db:migrate:redo; db:environment:set; destroy; d; *:destroy*; *:delete*; *:purge*; *:wipe*; *:drop*; runner *delete*|*destroy*|*drop*|*truncate*|*update_all*; tmp:clear; log:clear", "drops or rolls back the database, or deletes files"},
	{"manage.py django-admin django", "flush; migrate zero; reset_db; sqlflush; migrate --fake; delete_*; drop_*; clear_*; purge*; wipe*; truncate*; remove_stale_contenttypes; clearsessions; " +
		"reset_*; squashmigrations; loaddata; shell *delete*|*drop*|*truncate*", "deletes data of the database"},
	{"alembic", "downgrade", "rolls back the database"},
	{"flask quart", "db downgrade; db stamp; drop*; db drop*; reset*", "rolls back the database"},
	{"flyway", "clean; undo; repair", "drops every object of the database"},
	{"liquibase", "dropAll; drop-all; rollback*; update-testing-rollback; rollbackToDate", "drops or rolls back the database"},
	{"knex", "migrate:rollback; migrate:down; migrate:unlock; seed:run; migrate:forceFree", "rolls back the database"},
	{"sequelize sequelize-cli", "db:drop; db:migrate:undo*; db:seed:undo*; db:seed*", "drops or rolls back the database"},
	{"typeorm typeorm-ts-node-commonjs typeorm-ts-node-esm", "schema:drop; schema:sync; migration:revert; query", "drops or rolls back the database"},
	{"mikro-orm", "schema:drop; schema:fresh; migration:down; migration:fresh; database:import; schema:update --run", "drops or rolls back the database"},
	{"goose dbmate migrate golang-migrate sql-migrate tern atlas rambler pgroll sqitch soda buffalo bee diesel sqlx sea-orm-cli sea refinery", "down*; reset; redo; drop; " +
		"fix; force; revert; migration redo; migration revert; database drop; database reset; fresh; refresh; rollback; schema clean; schema apply --auto-approve; pop * down; migrate --destination=*", "drops or rolls back the database"},
	{"supabase", "db reset; db push --include-all; migration down; migration repair; projects delete; branches delete; functions delete; secrets unset; storage rm; orgs delete; " +
		"db remote*; stop --no-backup; network-bans remove; domains delete; sso remove; unlink; ssl-enforcement update", "resets or deletes what the project holds"},
	{"hasura", "metadata clear; migrate apply --down*; migrate delete; migrate squash; metadata apply; seed apply; migrate apply --type=down", "drops or rolls back the database"},
	{"artisan", "migrate:fresh; migrate:reset; migrate:refresh; migrate:rollback; db:wipe; db:seed; *:delete*; *:clear*; *:flush*; *:prune*; *:purge*; *:drop*; *:wipe*; queue:flush; down", "drops or rolls back the database"},
	{"console doctrine phinx spark cake", "doctrine:database:drop; doctrine:schema:drop; doctrine:schema:update --force; doctrine:fixtures:load; *:drop*; *:purge*; *:delete*; *:truncate*; " +
		"orm:schema-tool:drop; rollback; migrate:rollback; migrate:refresh; migrations rollback; cache:pool:clear", "drops or rolls back the database"},
	{"ace adonis", "migration:fresh; migration:reset; migration:refresh; migration:rollback; db:wipe; db:truncate", "drops or rolls back the database"},
	{"mix", "ecto.drop; ecto.reset; ecto.rollback; ecto.load; phx.gen.release; hex.publish; hex.retire; archive.uninstall", "drops or rolls back the database, or publishes"},
	{"dotnet dotnet-ef", "ef database drop; database drop; ef migrations remove; migrations remove; nuget delete; nuget push; tool uninstall; workload uninstall", "drops the database, or changes what is published"},
	{"lb4 strapi keystone payload directus medusa wp drush", "db:drop; db drop; db reset; db clean; db query; db import; reset; migrate:fresh; migrate:reset; migrate:down; migrate:refresh; import --force; " +
		"transfer; * delete*; * destroy; site empty; sql:drop; sql-drop; site:install; site-install; search-replace; config:import; entity:delete; database:*", "deletes what the site holds"},
	{"dbt", "run --full-refresh; build --full-refresh; seed --full-refresh; run-operation", "rebuilds or drops tables"},
	{"pscale turso neonctl neon", "delete; * delete; db destroy; destroy; db wipe; branch delete; * reset; * restore; group destroy; group unarchive; deploy-request deploy", "deletes a database"},
	{"convex amplify sst", "import --replace*; import --prod; delete; remove; env remove; sandbox delete; push --yes", "deletes or replaces what runs"},

	// Databases.
	{"dropdb dropuser pg_dropcluster", "", "drops a database or a user"},
	{"mysqladmin mariadb-admin", "drop; flush-*; shutdown; kill", "drops a database, or stops the server"},
	{"pg_restore pg_resetwal pg_upgrade mysql_secure_installation mongorestore mysqlimport pgloader", "", "overwrites a database"},
	{"redis-cli", "flush*; del; unlink; *flushall*; *flushdb*; shutdown; script flush; config set|rewrite|resetstat; eval*; debug; restore; rename; migrate; " +
		"replicaof; slaveof; xtrim; ltrim; expire; hdel; srem; zrem; getdel; spop; function delete|flush; cluster reset|forget|failover; acl deluser; * del *", "deletes what the database holds"},
	{"mongosh mongo", "*drop*; *delete*; *remove*; *shutdown*; *findOneAndDelete*; *renameCollection*; *replaceOne*; *update*", "deletes or changes what the database holds"},
	{"cqlsh influx influxd clickhouse clickhouse-client clickhouse-local", "*drop*; *truncate*; *delete*; restore", "deletes what the database holds"},
	{"etcdctl consul zkCli.sh", "del; kv delete; delete; deleteall; rmr; member remove; snapshot restore; compact; defrag; force-leave; leave; config delete; acl * delete", "deletes what the store holds"},
	{"kafka-topics kafka-topics.sh kafka-delete-records kafka-delete-records.sh rpk kcat rabbitmqctl rabbitmqadmin nats pulsar-admin", "--delete; topic delete; topic trim-prefix; delete*; * delete*; reset; force_reset; " +
		"purge*; * purge*; stream rm|purge; kv rm|del|purge; consumer rm; clear_*; stop_app; forget_cluster_node; topics delete; namespaces delete; tenants delete", "deletes topics or queues"},
	{"elasticdump es-curator curator opensearch", "--deleteIndex*; delete*; * delete*", "deletes indexes"},
	{"vault bao", "delete; kv delete|destroy|metadata; secrets disable|move; auth disable; policy delete; lease revoke; token revoke; operator seal|rekey|rotate|raft|step-down; namespace delete; audit disable", "deletes secrets"},

	// Platforms and clouds.
	{"railway", "down; delete; remove; unlink; volume delete; volume detach; environment delete; service delete; project delete; variables --unset; variable delete; domain delete; redeploy; rm", "deletes what runs, or its data"},
	{"fly flyctl", "destroy; * destroy; * delete; * remove; apps destroy; volumes destroy; machine destroy|kill; postgres detach; secrets unset; ips release; scale count 0; suspend; apps suspend; image update; certs remove; redis destroy; storage destroy; extensions * destroy", "deletes what runs, or its data"},
	{"heroku", "*:destroy; *:delete; *:reset; *:remove; *:unset; *:revoke; *:transfer; apps:leave; ps:stop; ps:kill; ps:scale *=0; pg:copy; pg:pull; pg:push; pg:promote; pg:killall; pg:backups:restore; " +
		"destroy; maintenance:on; redis:cli; pipelines:promote; releases:rollback; rollback; drains:remove; spaces:destroy; run:* rm", "deletes what runs, or its data"},
	{"vercel now", "remove; rm; * rm; * remove; env rm; domains rm; alias rm; project rm; rollback; promote; teams leave; blob delete; integration remove; deploy --prod*; --prod*", "deletes or replaces what runs"},
	{"netlify ntl", "sites:delete; env:unset; *:delete; blobs:delete; unlink; logout; deploy --prod*; functions:delete; api delete*", "deletes or replaces what runs"},
	{"render", "* delete; delete; * suspend; services delete; deploys cancel; jobs cancel; postgres delete; kv delete", "deletes what runs"},
	{"wrangler", "delete; d1 delete; d1 execute --remote; d1 execute --command=*drop*; d1 execute --command=*delete*; r2 bucket delete; r2 object delete; kv namespace delete; kv key delete; kv bulk delete; kv:* delete; " +
		"queues delete; secret delete; pages project delete; pages deployment delete; hyperdrive delete; vectorize delete*; * delete; rollback; dispatch-namespace delete; tunnel delete", "deletes what runs, or its data"},
	{"firebase", "*:delete; *:remove; firestore:delete; database:remove; database:set; database:update; functions:delete; hosting:disable; hosting:sites:delete; apps:delete; auth:import; projects:delete; " +
		"functions:config:unset; functions:secrets:destroy; firestore:databases:delete; firestore:indexes --force; deploy --force; remoteconfig:rollback; hosting:channel:delete", "deletes what the project holds"},
	{"aws awslocal aws-vault", "* delete-*; * terminate-*; * remove-*; * deregister-*; * purge-*; * stop-*; * cancel-*; * disable-*; * destroy-*; * detach-*; * disassociate-*; * release-*; * revoke-*; * reboot-*; * reset-*; " +
		"* schedule-key-deletion; * put-bucket-lifecycle*; * put-bucket-policy; * put-bucket-acl; * abort-*; * batch-delete-*; * batch-write-item; * modify-db-*; * restore-*; * update-stack; * execute-change-set; * leave-organization; " +
		"* close-account; * expire-session; * evict-*; * flush-*; * wipe-*; * erase-*; * update-login-profile; * attach-*-policy; * put-*-policy; * create-access-key; * create-login-profile; * add-user-to-group; * deactivate-*; " +
		"s3 rm; s3 rb; s3 mv; s3 sync --delete; * execute-statement *delete*; * execute-statement *drop*; ses send-*; sesv2 send-*; sns publish; lambda delete*; s3api delete*; emr terminate*", "deletes or stops what runs in the cloud, or gives access to it"},
	{"gcloud bq gsutil", "delete; * delete; destroy; * remove-*; * remove; * reset; * reset-*; * purge; * stop; * suspend; * disable; * detach*; * cancel; * revoke*; * undelete; * failover; * restore*; * truncate; * set-iam-policy; * add-iam-policy-binding; " +
		"storage rm; storage mv; storage rsync --delete-unmatched-destination-objects; rm; rb; mv; rsync -d; acl set; iam set; truncate; services disable; projects delete; * clear*; * drain; scale --replicas=0; query *delete*; query *drop*; query *truncate*", "deletes or stops what runs in the cloud, or gives access to it"},
	{"az", "* delete; delete; * delete-*; * purge; * remove; * stop; * deallocate; * restart; * regenerate*; * reset*; * failover*; * revoke*; * detach*; * disable; * cancel; * unlink; * clear*; * empty; storage * delete-batch; " +
		"storage blob sync; keyvault purge; group delete; role assignment create; ad * credential reset; * undelete; * wipe; * redeploy; * reimage", "deletes or stops what runs in the cloud, or gives access to it"},
	{"azcopy", "remove; rm; sync --delete-destination*", "deletes what the storage holds"},
	{"doctl hcloud linode-cli linode scw civo vultr vultr-cli upctl exo ibmcloud oci yc openstack ovh cloudflared tailscale scaleway upcloud equinix metal packet", "* delete; delete; * delete-*; * rm; * remove; * destroy; * terminate; * reset*; " +
		"* rebuild; * poweroff; * power-off; * shutdown; * purge; * unassign; * detach*; * disable*; * undeploy; * restore; * bulk-delete; * kill; down; logout; * revoke*; * empty", "deletes or stops what runs in the cloud"},
	{"rclone", "delete; deletefile; purge; sync; move; moveto; rmdir; rmdirs; cleanup; dedupe; bisync; backend", "deletes what the storage holds"},
	{"s3cmd s5cmd mc mcli", "del; rm; rb; rm *; mv; sync --delete*; expire; mirror --remove; admin * remove; admin service stop; ilm *; setlifecycle", "deletes what the storage holds"},
	{"terraform terragrunt", "destroy; apply; import; taint; untaint; force-unlock; state rm|mv|push|replace-provider; workspace delete; run-all destroy|apply; destroy-all; apply-all", "changes or destroys infrastructure"},
	{"pulumi", "destroy; up; down; update; refresh; cancel; stack rm; state delete|unprotect|edit|upgrade|rename; config rm; org; stack import; import; watch; policy rm", "changes or destroys infrastructure"},
	{"cdk cdk8s cdktf", "destroy; deploy; rollback; gc; migrate; import; bootstrap", "changes or destroys infrastructure"},
	{"serverless sls sam eb copilot chalice zappa up arc architect osls", "remove; delete; destroy; terminate; undeploy; rollback; * delete; abort; * terminate; env delete; app delete; svc delete; restore; swap", "deletes what runs"},
	{"ansible ansible-playbook salt salt-ssh salt-call puppet chef-client knife bolt fab cap mina", "* delete; * delete -y; ssl --deregister; --extra-vars=*state=absent*; *:rollback; *rm -rf*; *state=absent*; * cmd.run*; node delete; * purge; bulk delete; * deploy*", "changes or deletes what runs on other machines"},
	{"vagrant multipass limactl lima virsh VBoxManage vboxmanage prlctl incus lxc qm pct utmctl tart", "destroy; delete; * delete; undefine; purge; unregistervm; controlvm poweroff; rm; stop; box remove; snapshot delete|restore; rebuild; vol-delete; pool-destroy; net-destroy; factory-reset; restore; rollback; halt; prune", "deletes machines"},
	{"packer nomad waypoint boundary", "stop; job stop; system gc; alloc stop; node drain; destroy; delete; * delete; node purge; operator *; namespace delete; var purge; volume delete; job purge; project destroy", "stops or deletes what runs"},

	// Containers and clusters.
	{"kubectl microk8s.kubectl k3s", "delete; drain; evict; replace; apply --prune; apply --force; scale --replicas=0; rollout undo; certificate deny; adm prune|drain; patch *finalizers*; " +
		"config delete-*; config unset; * --grace-period=0; autoscale --max=0", "deletes or stops what runs in the cluster"},
	{"helm helmfile werf", "uninstall; delete; del; un; rollback; upgrade --force; upgrade --install --force; destroy; cleanup; dismiss; repo remove; plugin uninstall; registry logout; purge; apply; sync", "deletes or replaces what runs in the cluster"},
	{"argocd flux fluxcd istioctl linkerd kustomize skaffold tilt eksctl kops minikube kind k3d kubeadm talosctl rke rancher velero cilium crossplane", "delete; * delete; uninstall; uninstall*; delete *; app delete; app sync --prune; app sync --force; app rollback; " +
		"app set; cluster rm; proj delete; repo rm; down; reset; remove; purge; node drain; drain; restore create; backup delete; upgrade; shutdown; etcd *; stop; suspend", "deletes what runs in the cluster"},
	{"docker docker-compose colima crictl ctr buildah", "system prune; system reset; volume rm|prune|remove; image rm|prune|remove; container rm|prune|remove|kill; network rm|prune|remove; builder prune; buildx rm|prune; context rm; secret rm; config rm; " +
		"rm; rmi; rmp; kill; stop; down; down -v; compose down; compose rm; compose kill; compose stop; swarm leave; stack rm; stack down; service rm; service scale *=0; node rm; pod rm|kill|stop|prune; machine rm|reset|stop; kube down; plugin rm; " +
		"manifest rm; delete; prune; tasks kill; up --renew-anon-volumes; up -V", "deletes containers, images or volumes"},
	{"skopeo crane oras regctl reg", "delete; manifest delete; tag delete; tag rm; sync", "deletes images of a registry"},

	// HTTP, mail and chat.
	{"curl", "-X=DELETE; --request=DELETE; -T; --upload-file; -H=*method-override*delete*; --header=*method-override*delete*; *hooks.slack.com/*; *discord.com/api/webhooks/*; *discordapp.com/api/webhooks/*; *api.telegram.org/*send*; *api.telegram.org/*delete*; " +
		"*/chat.postMessage*; *api.twilio.com/*messages*; *api.sendgrid.com/*send*; *api.mailgun.net/*messages*; *graph.facebook.com/*/messages*; --mail-rcpt; --mail-from; *webhook.office.com/*; *api.resend.com/emails*; *api.postmarkapp.com/email*", "deletes, uploads or sends"},
	{"wget", "--method=DELETE; --post-file; --body-file; *hooks.slack.com/*", "deletes or sends"},
	{"http https xh xhs httpie", "delete; DELETE; *hooks.slack.com/*; *discord.com/api/webhooks/*", "deletes or sends"},
	{"hurl restish posting bruno bru newman", "delete", "deletes or sends"},
	{"grpcurl evans ghz", "*/delete*; *.delete*; */remove*; */destroy*; */drop*", "deletes or sends"},
	{"mail mailx s-nail mutt neomutt msmtp sendmail swaks himalaya aerc alot gmailctl gog gogcli notmuch neverest mailsend sendemail exim ssmtp", "!--help; send; message send; message delete; delete", "sends or deletes mail"},
	{"slack slackcat slack-cli signal-cli telegram-send tdl wacli imsg mattermost mmctl discord discordo matrix-commander zulip-send sendxmpp teams notify-slack apprise jira acli linear clickup trello-cli basecamp twilio gam", "send*; * send*; -m; --message; post; delete; * delete; * remove; *:create; *:remove; --body; chat send; update; purge", "sends or deletes messages"},

	// Publishing.
	{"npm pnpm yarn bun jsr", "publish; unpublish; deprecate; npm publish; owner rm|add; access *; dist-tag rm|add; team rm|destroy; org rm; token revoke|create; hook rm; store prune; stage publish", "changes what is published"},
	{"cargo", "publish; yank; owner --add|--remove|-a|-r", "changes what is published"},
	{"gem", "push; yank; owner; uninstall; cleanup; sources -r", "changes what is published or installed"},
	{"twine flit poetry hatch pdm uv maturin rye", "upload; publish", "publishes a package"},
	{"mvn gradle sbt lein", "deploy; deploy:*; release:*; publish; publishAll*; *:publish; nexus-staging:*; closeAndRelease*; uploadArchives; versions:commit; liquibase:dropAll; liquibase:rollback*; flyway:clean; flywayClean; dropAll; flyway:undo; jgitflow:*; *:dropAll; *:flywayClean; hibernate:drop", "publishes, or drops the database"},
	{"goreleaser lerna changeset release-please auto ko", "release !--dry-run !--snapshot; publish; version --yes; shipit", "publishes a release"},
	{"np release-it semantic-release standard-version", "!--dry-run !--help !--version", "publishes a release"},
	{"dart flutter pod composer hex rebar3 cpan-upload luarocks conan vcpkg opam cabal stack nuget choco vsce ovsx web-ext clasp expo eas fastlane", "pub publish; publish; lish; trunk push; trunk delete; trunk deprecate; upload; push; delete; unpublish; remove; submit; * delete; * remove; release; deliver; supply; pilot; match nuke; undeploy; yank; hex publish; credentials *", "publishes or unpublishes"},
	{"gh glab tea hub", "repo delete|archive|rename; release delete|delete-asset|create|upload; run delete|cancel; issue delete|transfer; mr delete; cache delete; gist delete; secret delete|remove; variable delete; " +
		"label delete; workflow disable; codespace delete; ssh-key delete; gpg-key delete; extension remove; ruleset delete; project delete|item-delete|field-delete; api -X=DELETE; api --method=DELETE; project transfer; ci delete; pipeline delete; repo transfer; schedule delete; " +
		"repo sync --force; repo mirror; milestone delete; branch delete; api *delete*", "deletes or closes something on the server, or publishes it"},
	{"svn hg fossil jj bzr cvs darcs p4 sl gerrit repo", "delete; rm; remove; revert; strip; rollback; purge; abandon; op restore; undo; obliterate; update -C|--clean; cleanup --remove-unversioned; git push --deleted; push --force|-f; uncommit; hide", "discards work"},

	// Files and disks.
	{"rm rmdir unlink shred srm wipe trash trash-put trash-empty rimraf del-cli del rip truncate", "", "deletes or empties files"},
	{"gio", "trash; remove", "deletes files"},
	{"dd dcfldd ddrescue dc3dd mkfs mkfs.* mke2fs newfs* fdisk sfdisk gdisk sgdisk cfdisk parted partprobe wipefs mkswap blkdiscard hdparm nvme cryptsetup losetup badblocks e2fsck fsck fsck.* resize2fs xfs_growfs tune2fs debugfs mdadm format diskpart " +
		"lvremove vgremove pvremove lvreduce lvextend vgreduce dmsetup zpool zfs btrfs bcachefs flashrom fwupdmgr fastboot heimdall efibootmgr grub-install sg_format scrub nwipe testdisk", "!--help !--version !-V !list !status !show !-l !--list !print !get !history !--print !filesystem !-I !--detail !--examine !-i !id-ctrl !smart-log", "writes to disks or file systems"},
	{"diskutil hdiutil tmutil asr", "erase*; partition*; reformat; zero*; random*; secureErase; apfs delete*; delete*; resize*; thinlocalsnapshots; disable; eject; restore", "writes to disks or file systems"},
	{"find", "-delete", "deletes files"},
	{"rsync", "--delete; --delete-before; --delete-after; --delete-during; --delete-delay; --delete-excluded; --delete-missing-args; --remove-source-files; --del", "deletes files"},
	{"tar", "--remove-files; --unlink-first; --recursive-unlink", "deletes files"},
	{"mv", "* /dev/null", "discards files"},
	{"restic borg kopia duplicity duplicacy rdiff-backup bup attic zbackup rsnapshot tarsnap", "forget; prune; delete; remove*; purge; restore; snapshot delete; cleanup; repair*; recreate; compact; break-lock; unlock; key remove; -d; --fsck-prune; policy delete; rewrite", "deletes backups"},

	// Processes, services, users, packages.
	{"kill pkill killall killall5 skill xkill fuser kill-port fkill taskkill tskill", "!-l !-L !--list !--help !--version !-V", "ends processes"},
	{"shutdown reboot halt poweroff telinit kexec pm-suspend", "", "stops the machine"},
	{"systemctl service rc-service launchctl sc supervisorctl initctl sv pm2 forever monit brew s6-svc", "stop; disable; mask; kill; delete; isolate; reboot; poweroff; halt; rescue; emergency; reset-failed; revert; remove; unload; bootout; shutdown; uninstall; autoremove; rm; unmonitor; stopall", "stops what runs, or removes it"},
	{"userdel deluser groupdel delgroup usermod groupmod passwd chpasswd chage dscl sysadminctl net dsmod dsrm ipa samba-tool kadmin kdb5_util ldapdelete ldapmodify realm faillock pwconv vipw gpasswd", "", "changes users or their rights"},
	{"iptables ip6tables nft ufw firewall-cmd pfctl ipset ebtables nmcli ifdown netplan route tc wg-quick networksetup netsh", "-F; -X; -D; --flush; --delete*; flush; delete; reset; disable; down; del; --remove*; --panic-on; -setdnsservers*; off", "changes the network"},
	{"crontab", "-r; !-l !-e !-V", "replaces or deletes jobs"},
	{"atrm", "", "deletes jobs"},
	{"apt apt-get aptitude dnf yum zypper apk snap flatpak pkg pkgin port guix opkg eopkg swupd rpm-ostree choco winget scoop conda pip pipx asdf mise volta rustup brew uv nix-env",
		"remove; purge; autoremove; uninstall; erase; del; delete; deinstall; autoclean --purge; env remove; toolchain uninstall; self uninstall; implode; prune; cache purge; --uninstall; --delete-generations", "removes packages"},
	{"pacman yay paru pamac", "-R*; --remove; -Sc*", "removes packages"},
	{"dpkg rpm", "-r; -P; -e; --remove; --purge; --erase", "removes packages"},
	{"emerge", "-C; -c; --unmerge; --depclean", "removes packages"},
	{"nix nix-store nix-collect-garbage xbps-remove", "store gc; store delete; profile wipe-history; profile remove; --gc; --delete; -d; --delete-old", "removes packages"},
	{"gsettings dconf defaults reg regedit gconftool-2 kwriteconfig5 plutil scutil nvram systemsetup csrutil spctl tccutil profiles bputil pmset", "reset*; delete*; disable; remove; --master-disable; import; unload; -remove; -d; -c", "resets settings of the system"},
	{"history", "-c; -d", "deletes the history"},
	{"journalctl", "--vacuum-size; --vacuum-time; --vacuum-files; --rotate; --flush", "deletes logs"},
	{"logrotate", "-f; --force", "deletes logs"},
	{"sysctl", "-w; -p; --write; --load; --system; *=*", "changes the system"},
	{"setenforce aa-disable aa-teardown swapoff", "", "changes the system"},
	{"gpg pass gopass security keytool certutil ssh-keygen ykman op bw keyring secret-tool age-plugin-yubikey step", "--delete-*; rm; delete*; remove; -delete; -R; reset; del; purge; certificate revoke; --gen-revoke", "deletes keys or secrets"},
}
