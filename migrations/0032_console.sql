-- Lists of real-person authorization sessions, newest first: of all users for operators, and of one user.
create index authorization_sessions_newest on authorization_sessions (created_at desc, id desc);
create index authorization_sessions_of_user on authorization_sessions (user_id, created_at desc, id desc);
