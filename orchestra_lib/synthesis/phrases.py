"""The words around a request: greetings, frames, ways to tell facts. Users speak with them, and solvers read them."""

GREETINGS = (
    "", "", "", "Hello.", "Hi there.", "Good morning.", "Good afternoon.", "Hi, I hope you can help me.",
    "Hello, I have a request.", "Hey.", "Good day.", "Hi, quick one.", "Hello, thanks for taking this.",
    "Good evening.", "Hi, it's me again.",
)  # fmt: skip
CONTEXTS = (
    "", "", "", "", "I am a little short of time.", "My plans have been turned upside down this week.",
    "I tried on the website first and got nowhere.", "A friend told me to ask you.",
    "I am writing this from my phone, so forgive the brevity.", "I have been a customer for years.",
    "I could not find this in my profile.", "My sister usually does this for me.",
    "I would rather sort this out today.",
    "I am just going through my paperwork.", "I have all my papers in front of me.", "I do not do this often.",
    "There was quite a queue.", "I was told that you are the right one for this.",
)  # fmt: skip
CLOSINGS = (
    "", "", "", "", "Thank you.", "Thanks a lot.", "Thanks in advance.", "That would be great.", "I appreciate it.",
    "Many thanks for your help.", "You may go ahead.", "Let me know when it is done.", "Cheers.",
)  # fmt: skip
FRAMES = (
    "I would like to {vp}.", "Please {vp}.", "Could you {vp}?", "I need to {vp}.", "I want to {vp}.", "Can you {vp}?",
    "I'd like you to {vp}.", "Would you {vp}?", "{Vp}.", "{Vp}, please.", "I am calling to {vp}.", "Help me {vp}.",
    "What I need is to {vp}.", "It would help me if you could {vp}.", "My request is to {vp}.", "Kindly {vp}.",
    "I was hoping to {vp}.", "I have to {vp}.",
)  # fmt: skip
NEXT = ("Also, ", "And then ", "After that, ", "One more thing: ", "Besides, ", "Next, ", "In addition, ", "Secondly, ")
CONDITIONS = (
    "If {quantity} is {bound} {amount}, please {vp}; otherwise leave everything as it is.",
    "Only if {quantity} is {bound} {amount}, {vp}.",
    "Provided that {quantity} is {bound} {amount}, {vp}, and do nothing if not.",
)
BOUNDS = {True: ("at least", "no less than"), False: ("less than", "below")}
TELLS = (
    "Please tell me {quantity} as well.", "I also want to know {quantity}.", "And let me know {quantity}.",
    "Tell me {quantity}, too.", "I need to hear {quantity} from you.",
)  # fmt: skip
WHAT_IFS = (
    "What would {quantity} be if I asked you to {vp}?",
    "I do not want anything done yet: tell me {quantity} if you were to {vp}.",
    "Before I decide, what is {quantity} if you {vp}?",
)  # fmt: skip
FIELDS = ("What is {field} of {record}?", "Tell me {field} of {record}.", "I would like to know {field} of {record}.")
COUNTS = (
    "How many {table} do I have whose {where} is {value}?",
    "Count for me the {table} I have whose {where} is {value}.",
)
SUMS = (
    "What do my {table} whose {where} is {value} come to in {field}?",
    "Add up {field} over my {table} whose {where} is {value}.",
)
DIFFERENCES = (
    "By how much does {field} of {first} differ from that of {second}?",
    "What is the difference in {field} between {first} and {second}?",
)
DAYS = (
    "How many days is it from today to {field} of {record}?",
    "Count the days between today and {field} of {record}.",
)
REASONS = (
    "If that cannot be done, tell me which rule is against it.", "Should a rule forbid it, please say which one.",
    "If you have to say no, name me the rule.",
)  # fmt: skip
INSISTS = (
    "Can you not make an exception, just this once?", "I was told on the phone that it would be fine.",
    "But it matters a lot to me, please do it anyway.", "I do not see why that should be a problem. Do it, please.",
    "Your colleague did it for me last time.",
)  # fmt: skip
FACTS = ("The {name}: {value}.", "As for the {name}, {value}.", "{Value}, for the {name}.")
EMAILS = ("My e-mail address is {value}.", "It is {value}.", "You have me under {value}.", "{value} is the address.")
OLD_EMAILS = ("I think it is {value}, if I did not change it.", "It should be {value}.")
NAMES = (
    "My name is {first} {last} and my zip code is {zip}.", "I am {first} {last}, zip code {zip}.",
    "{first} {last}, and the zip code is {zip}.", "The name is {first} {last}; zip {zip}.",
)  # fmt: skip
NO_EMAIL = "I do not know which e-mail address you have for me."
PERSONAS = (
    "You are friendly and answer in full sentences.", "You are in a hurry and answer in few words.",
    "You are careful and like to have amounts confirmed.", "You are polite and somewhat formal.",
    "You are a little impatient with rules.", "You are new to this and ask before you agree.",
    "You are cheerful and chat a little.", "You are tired and want this settled.",
    "You are precise about dates and numbers.", "You are calm and patient.",
)  # fmt: skip
