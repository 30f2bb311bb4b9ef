// Runs in mongosh: creates the roles of rights.json and one user per process, or updates existing ones. Passwords come
// from the environment, so that none is a process argument: MONGODB_ROOT_PASSWORD of the server's first user, and one
// for each row of rights.json, such as MONGODB_CONTROL_PASSWORD.
const { readFileSync } = require('node:fs');

const DATABASE = 'mayfly';
const server = process.env.MONGODB_SERVER || 'mongodb:27017';

function passwordOf(name) {
  const password = process.env[`MONGODB_${name.toUpperCase()}_PASSWORD`];
  if (!password) throw new Error(`MONGODB_${name.toUpperCase()}_PASSWORD is not set`);
  return password;
}

function privilegesOf(row) {
  return Object.entries(row).map(([collection, actions]) => ({ resource: { db: DATABASE, collection }, actions }));
}

const root = encodeURIComponent(passwordOf('root'));
const database = connect(`mongodb://mayfly:${root}@${server}/${DATABASE}?authSource=admin`);
const rights = JSON.parse(readFileSync(process.env.MONGODB_RIGHTS || '/deploy/rights.json', 'utf8'));

for (const [name, row] of Object.entries(rights)) {
  const role = { privileges: privilegesOf(row), roles: [] };
  if (database.getRole(name)) database.updateRole(name, role);
  else database.createRole({ role: name, ...role });
  const user = { pwd: passwordOf(name), roles: [{ role: name, db: DATABASE }] };
  if (database.getUser(name)) database.updateUser(name, user);
  else database.createUser({ user: name, ...user });
  print(`${name}: ${Object.keys(row).length} collections`);
}
